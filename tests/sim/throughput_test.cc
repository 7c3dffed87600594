// The cost of one event when there are many ranks. The bound is far above what any machine needs,
// and far below the cost of scanning all ranks per event.
#include <chrono>
#include <cstdio>
#include <ctime>

#include <gtest/gtest.h>

#include "simulated_cluster.h"

namespace dlaunch::sim {
namespace {

struct Cost {
  std::size_t events = 0;
  std::chrono::nanoseconds took{};
};

/// CPU time of this process, so that the load of the machine does not count.
std::chrono::nanoseconds processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// A whole run in which every rank fails at once: the worst case for the choice of the first.
Cost run_all_failing(std::uint32_t nodes, std::uint32_t per_node) {
  SupervisorConfig config;
  config.nodes.clear();
  for (std::uint32_t i = 0; i < nodes; ++i) config.nodes[NodeId{i}] = "";
  config.stop_grace = std::chrono::seconds(30);
  config.connect_limit = std::chrono::seconds(30);
  event::PlanMade plan;
  for (std::uint32_t r = 0; r < nodes * per_node; ++r) plan.node_of_rank.emplace_back(r / per_node);

  std::vector<Event> events;
  for (std::uint32_t n = 0; n < nodes; ++n) events.emplace_back(event::NodeReady{NodeId{n}});
  events.emplace_back(plan);
  for (std::uint32_t r = 0; r < nodes * per_node; ++r) {
    events.emplace_back(event::RankStarted{{}, Rank{r}, 1, wall({})});
  }
  for (std::uint32_t r = nodes * per_node; r-- > 0;) {
    events.emplace_back(
        event::RankExited{{}, Rank{r}, {false, 1, false}, wall(std::chrono::microseconds(r))});
  }
  for (std::uint32_t n = 0; n < nodes; ++n) events.emplace_back(event::NodeEmpty{{}, NodeId{n}, 0});

  Supervisor supervisor(config);
  (void)supervisor.start({});
  const MonotonicTime now = std::chrono::seconds(1);
  const std::chrono::nanoseconds begin = processor_time();
  std::size_t actions = 0;
  for (const Event& event : events) {
    actions += supervisor.on(event, now).size();
    (void)supervisor.deadline();
  }
  const std::chrono::nanoseconds end = processor_time();
  EXPECT_TRUE(supervisor.done());
  EXPECT_GT(actions, 2 * nodes);
  return {events.size(), end - begin};
}

double per_event(std::uint32_t nodes, std::uint32_t ranks_on_each) {
  const Cost cost = run_all_failing(nodes, ranks_on_each);
  const double each = static_cast<double>(cost.took.count()) / static_cast<double>(cost.events);
  std::printf("%zu events, %u nodes with %u ranks each: %.0f ns each\n", cost.events, nodes,
              ranks_on_each, each);
  return each;
}

TEST(Throughput, AnEventCostsAboutTheSameWithTenTimesTheNodes) {
  EXPECT_LT(per_event(10'000, 1), 5 * per_event(1'000, 1));
  EXPECT_LT(per_event(1'250, 8), 5 * per_event(125, 8));
}

}  // namespace
}  // namespace dlaunch::sim
