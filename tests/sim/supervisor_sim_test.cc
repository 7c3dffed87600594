// Random runs of the supervisor against the list of invariants. A failure names the seed:
//   DLAUNCH_SIM_SEED=17 test_sim     repeats it; DLAUNCH_SIM_SEEDS=100000 runs more of them.
#include <cstdlib>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "cluster.h"
#include "invariants.h"

namespace dlaunch::sim {
namespace {

constexpr std::uint64_t kSeeds = 300;
constexpr std::uint32_t kMaxRanks = 2000;

std::optional<std::uint64_t> from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

RunReport check_run(std::uint64_t seed) {
  const Scenario scenario = draw_scenario(seed, kMaxRanks);
  const Trace trace = simulate(scenario);
  const Digest d = digest(trace);
  for (const Invariant& invariant : invariants()) {
    const Finding finding = invariant.check(trace, d);
    EXPECT_FALSE(finding) << "seed " << seed << ", " << scenario.nodes.size() << " nodes, "
                          << scenario.ranks.size() << " ranks: " << invariant.name << ": "
                          << *finding;
    if (d.finishes.size() != 1) return {};
  }
  return *d.report;
}

TEST(SupervisorSim, InvariantsHoldInEveryRun) {
  const auto only = from_environment("DLAUNCH_SIM_SEED");
  const std::uint64_t first = only.value_or(1);
  const std::uint64_t last = only.value_or(from_environment("DLAUNCH_SIM_SEEDS").value_or(kSeeds));
  std::map<Cause, int> causes;
  std::size_t ranks = 0;
  for (std::uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
    const RunReport report = check_run(seed);
    ++causes[report.cause];
    ranks += report.ranks.size();
  }
  for (const auto& [cause, count] : causes) RecordProperty(name_of(cause), count);
  RecordProperty("ranks", std::to_string(ranks));
  if (only) return;
  // The scenarios are worth something only if every kind of end is among them.
  for (const Cause cause : {Cause::success, Cause::exit_code, Cause::signal, Cause::cannot_execute,
                            Cause::node_lost, Cause::time_limit, Cause::cancelled, Cause::plan}) {
    EXPECT_GT(causes[cause], 0) << name_of(cause);
  }
  EXPECT_EQ(causes[Cause::internal], 0);
}

TEST(SupervisorSim, TheSameSeedIsTheSameRun) {
  EXPECT_EQ(check_run(42), check_run(42));
}

}  // namespace
}  // namespace dlaunch::sim
