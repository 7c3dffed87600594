// When mpirun may be started, and which of its output is kept.
#include "launch/mpi/mpirun_watch.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

LaunchPlan plan() {
  LaunchPlan plan;
  plan.attempt = Attempt(1);
  plan.mpirun = MpirunPlan{};
  plan.mpirun->argv = {"mpirun"};
  plan.nodes.resize(3);
  for (std::uint32_t i = 0; i < 3; ++i) plan.nodes[i].id = NodeId(i);
  plan.nodes[0].ranks = {Rank(0)};
  plan.nodes[2].ranks = {Rank(1)};
  return plan;
}

TEST(MpirunWatch, StartsWhenEveryNodeWithRanksAwaitsThem) {
  const LaunchPlan made = plan();
  MpirunWatch watch(made);
  EXPECT_FALSE(watch.awaited(NodeId(2), {Attempt(1)}));
  EXPECT_FALSE(watch.awaited(NodeId(0), {Attempt(0)})) << "of another attempt";
  EXPECT_FALSE(watch.awaited(NodeId(1), {Attempt(1)})) << "a node without ranks";
  const auto start = watch.awaited(NodeId(0), {Attempt(1)});
  ASSERT_TRUE(start);
  EXPECT_EQ(start->argv, std::vector<std::string>{"mpirun"});
  EXPECT_FALSE(watch.awaited(NodeId(0), {Attempt(1)})) << "once";
}

}  // namespace
}  // namespace dlaunch
