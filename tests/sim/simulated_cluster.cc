#include "simulated_cluster.h"

#include "cluster_state.h"

namespace dlaunch::sim {

WallTime wall(MonotonicTime t) {
  return WallTime(std::chrono::seconds(1'800'000'000)) + t;
}

Trace simulate(const Scenario& scenario, Bug bug) {
  return Cluster(scenario, std::move(bug)).run();
}

}  // namespace dlaunch::sim
