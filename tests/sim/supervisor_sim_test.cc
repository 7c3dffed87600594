// Random runs of the supervisor against the list of invariants. A failure names the seed:
//   DLAUNCH_SIM_SEED=17 test_sim     repeats it; DLAUNCH_SIM_SEEDS=100000 runs more of them.
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks.h"
#include "seeds.h"
#include "simulated_cluster.h"

namespace dlaunch::sim {
namespace {

constexpr std::uint64_t kMaxRanks = 2000;

/// The run as drawn, and the same run when it is cancelled twice at some time.
RunReport check_run(std::uint64_t seed, Coverage& coverage) {
  static const auto most = number_from_environment("DLAUNCH_SIM_RANKS").value_or(kMaxRanks);
  const Scenario scenario = draw_scenario(seed, static_cast<std::uint32_t>(most));
  const Trace run = simulate(scenario);
  const RunReport report = check(run, coverage);
  (void)check(simulate(cancelled_twice(scenario, run.steps.back().now)), coverage,
              " cancelled twice");
  return report;
}

TEST(SupervisorSim, InvariantsHoldInEveryRun) {
  const Seeds some = seeds(kUsualSeeds);
  std::map<Cause, int> causes;
  Coverage coverage;
  std::size_t ranks = 0;
  std::size_t restarts = 0;
  std::size_t after_loss = 0;  // restarts
  std::size_t gave_up = 0;     // waiting for a node
  std::size_t mpirun = 0;      // restarts because of it
  std::size_t hangs = 0;       // restarts after them
  for (std::uint64_t seed = some.first; seed <= some.last && !HasFailure(); ++seed) {
    const RunReport report = check_run(seed, coverage);
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
  coverage.record();
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
  // Nodes leave the set in spares_sim_test.cc; the events come in any_events_test.cc.
  EXPECT_THAT(coverage.missing(), testing::ElementsAre("Copying", "Deadline", "NodeAdded",
                                                       "NodeWithdrawn", "RemoveNode", "UserAsked"));
}

TEST(SupervisorSim, TheSameSeedIsTheSameRun) {
  Coverage coverage;
  EXPECT_EQ(check_run(42, coverage), check_run(42, coverage));
}

}  // namespace
}  // namespace dlaunch::sim
