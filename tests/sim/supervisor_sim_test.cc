// Random runs of the supervisor against the list of invariants. A failure names the seed:
//   DLAUNCH_SIM_SEED=17 test_sim     repeats it; DLAUNCH_SIM_SEEDS=100000 runs more of them.
#include <csignal>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "attempts.h"
#include "simulated_cluster.h"
#include "invariants.h"
#include "seeds.h"

namespace dlaunch::sim {
namespace {

constexpr std::uint64_t kSeeds = 300;
constexpr std::uint32_t kMaxRanks = 2000;

/// Just the report, which points into the run.
Part end_of_wait(const Trace& run) {
  Part part;
  for (const StepRecord& step : run.steps) {
    if (const auto* finish = find_action<action::Finish>(step))
      part.digest.report = &finish->report;
  }
  return part;
}

RunReport check_run(const Scenario& scenario, const char* which, MonotonicTime* took = nullptr) {
  const Trace run = simulate(scenario);
  if (took != nullptr) *took = run.steps.back().now;
  const std::string where = "seed " + std::to_string(scenario.seed) + which + ", " +
                            std::to_string(scenario.nodes.size()) + " nodes, " +
                            std::to_string(scenario.ranks.size()) + " ranks";
  std::vector<Part> parts;
  for (Trace& part : attempts_of(run)) {
    Digest d = digest(part);
    parts.push_back({std::move(part), std::move(d)});
  }
  // The last attempt of a run that ended in a wait has no end of its own; the run has one.
  if (ended_in_wait(run)) parts.push_back(end_of_wait(run));
  for (const Part& part : parts) {
    if (ended_in_wait(run) && &part == &parts.back()) continue;
    for (const Invariant& invariant : invariants()) {
      const Finding finding = invariant.check(part.trace, part.digest);
      EXPECT_FALSE(finding) << where << ", attempt " << part.trace.attempt.value << ": "
                            << invariant.name << ": " << *finding;
      if (part.trace.is_last && part.digest.finishes.size() != 1) return {};
    }
  }
  for (const RunInvariant& invariant : run_invariants()) {
    const Finding finding = invariant.check(run, parts);
    EXPECT_FALSE(finding) << where << ": " << invariant.name << ": " << *finding;
  }
  return *parts.back().digest.report;
}

/// The run as drawn, and the same run when it is cancelled twice at some time.
RunReport check_run(std::uint64_t seed) {
  Scenario scenario = draw_scenario(seed, kMaxRanks);
  MonotonicTime took{};
  RunReport report = check_run(scenario, "", &took);
  Dice dice(seed);
  const MonotonicTime at = dice.time({}, took);
  scenario.interruptions = {{at, dice.chance(0.3) ? 0 : SIGINT},
                            {at + dice.time({}, std::chrono::seconds(3)), SIGTERM}};
  (void)check_run(scenario, " cancelled twice");
  return report;
}

TEST(SupervisorSim, InvariantsHoldInEveryRun) {
  const Seeds some = seeds(kSeeds);
  std::map<Cause, int> causes;
  std::size_t ranks = 0;
  std::size_t restarts = 0;
  std::size_t after_loss = 0;  // restarts
  std::size_t gave_up = 0;     // waiting for a node
  std::size_t mpirun = 0;      // restarts because of it
  std::size_t hangs = 0;       // restarts after them
  for (std::uint64_t seed = some.first; seed <= some.last && !HasFailure(); ++seed) {
    const RunReport report = check_run(seed);
    ++causes[report.outcome.cause];
    ranks += report.ranks.size();
    restarts += report.earlier.size();
    for (const FailedAttempt& failed : report.earlier) {
      after_loss += !failed.outcome.lost_nodes.empty();
      mpirun += failed.outcome.cause == Cause::starter;
      hangs += failed.outcome.cause == Cause::hang;
    }
    gave_up += report.outcome.detail.find("did not answer again") != std::string::npos;
  }
  for (const auto& [cause, count] : causes) RecordProperty(name_of(cause), count);
  RecordProperty("ranks", std::to_string(ranks));
  RecordProperty("restarts", std::to_string(restarts));
  if (some.is_one) return;
  // The scenarios are meaningful only if every kind of end occurs among them.
  for (const Cause cause : {Cause::success, Cause::exit_code, Cause::signal, Cause::cannot_execute,
                            Cause::node_lost, Cause::time_limit, Cause::cancelled, Cause::plan,
                            Cause::stragglers, Cause::hang, Cause::port_taken, Cause::starter,
                            Cause::preempted}) {
    EXPECT_GT(causes[cause], 0) << name_of(cause);
  }
  EXPECT_EQ(causes[Cause::internal], 0);
  EXPECT_GT(restarts, 20u);
  EXPECT_GT(after_loss, 3u);
  EXPECT_GT(gave_up, 0u);
  EXPECT_GT(mpirun, 0u);
  EXPECT_GT(hangs, 0u);
}

TEST(SupervisorSim, TheSameSeedIsTheSameRun) {
  EXPECT_EQ(check_run(42), check_run(42));
}

}  // namespace
}  // namespace dlaunch::sim
