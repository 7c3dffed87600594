// Random runs with spare nodes: what the supervisor may do with the set of nodes, and the
// invariants of all runs. A failure names the seed:
//   DLAUNCH_SIM_SEED=17 test_sim     repeats it; DLAUNCH_SIM_SEEDS=100000 runs more of them.
#include <string>

#include <gtest/gtest.h>

#include "checks.h"
#include "invariants.h"
#include "seeds.h"
#include "simulated_cluster.h"

namespace dlaunch::sim {
namespace {

void check_spares(const Trace& run, const char* which) {
  for (const SpareInvariant& invariant : spare_invariants()) {
    const Finding finding = invariant.check(run);
    EXPECT_FALSE(finding) << "seed " << run.scenario.seed << which << ", "
                          << run.scenario.nodes.size() << " nodes, "
                          << run.scenario.config.nodes_needed << " to "
                          << run.scenario.config.nodes_wanted << ": " << invariant.name << ": "
                          << *finding;
  }
}

/// The run as drawn, and the same run when it is cancelled twice at some time.
void check_runs(std::uint64_t seed, Coverage& coverage, SetHistory& sum) {
  const Trace run = simulate(draw_spares_scenario(seed));
  check_spares(run, "");
  (void)check(run, coverage, " with spares");
  const SetHistory history = history_of_set(run);
  sum.removed += history.removed;
  sum.shrunk += history.shrunk;
  sum.joined_again += history.joined_again;
  sum.restarts += history.restarts;
  const Trace cancelled = simulate(cancelled_twice(run.scenario, run.steps.back().now));
  check_spares(cancelled, " cancelled twice");
  (void)check(cancelled, coverage, " with spares, cancelled twice");
}

TEST(SparesSim, InvariantsHoldInEveryRun) {
  const Seeds some = seeds(kUsualSeeds);
  Coverage coverage;
  SetHistory sum;
  for (std::uint64_t seed = some.first; seed <= some.last && !HasFailure(); ++seed)
    check_runs(seed, coverage, sum);
  RecordProperty("removed", std::to_string(sum.removed));
  RecordProperty("shrunk", std::to_string(sum.shrunk));
  RecordProperty("joined_again", std::to_string(sum.joined_again));
  RecordProperty("restarts", std::to_string(sum.restarts));
  coverage.record();
  if (some.is_one) return;
  EXPECT_GT(sum.removed, 20u);
  EXPECT_GT(sum.shrunk, 5u);
  EXPECT_GT(sum.joined_again, 5u);
  EXPECT_GT(sum.restarts, 20u);
}

}  // namespace
}  // namespace dlaunch::sim
