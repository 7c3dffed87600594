// Which nodes a failed preparation blames, so that a restart goes on with the others.
#include "launch/session/unusable_nodes.h"

#include <gmock/gmock.h>

#include "../fake_nodes.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class UnusableNodesTest : public testing::Test {
 protected:
  UnusableNodesTest() {
    for (Node& node : nodes_.cluster_.nodes) {
      const std::string number = std::to_string(node.id.value + 1);
      NetworkInterface interface;
      interface.name = "eth0";
      interface.is_up = true;
      interface.addresses = {{"10.0.0." + number, 24}};
      node.facts.interfaces = {interface};
      node.facts.cores = {{0, {0}, false}, {1, {1}, false}};
      node.facts.reserved_ports = {21000};
      node.facts.gpus = std::vector<GpuFact>(2);
      node.facts.gpus[1].index = 1;
    }
    spec_.command.argv = {"python3", "train.py"};
    spec_.workdir = "/home/me/job";
    spec_.nodes = NodeRange{2, 3};
    spec_.processes_per_node = {ProcessesPerNode::Kind::gpu, 0};
    context_.run_folder = "/run-folder";
    context_.current_folder = "/";
    ran_on({0, 1, 2});
  }

  void ran_on(const std::vector<std::uint32_t>& nodes) {
    last_.nodes.clear();
    for (const std::uint32_t node : nodes) last_.nodes.emplace_back().id = NodeId(node);
  }
  void lose_gpus(std::uint32_t node) { nodes_.cluster_.nodes[node].facts.gpus.clear(); }
  std::map<NodeId, std::string> unusable(PrepareStep step) {
    outcome_.failed_at = step;
    outcome_.failure = Error{exit_code::kPreflight, "what is wrong\n         try: something"};
    if (step == PrepareStep::plan)
      outcome_.failure = make_plan(spec_, nodes_.cluster(), context_).error();
    return unusable_nodes(spec_, nodes_.cluster(), context_, last_, outcome_);
  }

  JobSpec spec_;
  FakeNodes nodes_{4};
  PlanContext context_;
  LaunchPlan last_;
  Prepared outcome_;
};

TEST_F(UnusableNodesTest, APlanThatWorksWithoutSomeOfTheNodes) {
  ASSERT_TRUE(make_plan(spec_, nodes_.cluster(), context_));
  lose_gpus(1);
  EXPECT_THAT(unusable(PrepareStep::plan), ElementsAre(Pair(NodeId(1), HasSubstr("node1"))));
  lose_gpus(2);
  EXPECT_THAT(unusable(PrepareStep::plan), ElementsAre(Pair(NodeId(1), HasSubstr("node1")),
                                                       Pair(NodeId(2), HasSubstr("node2"))));
  lose_gpus(0);
  EXPECT_THAT(unusable(PrepareStep::plan), IsEmpty()) << "too few would be left";
}

TEST_F(UnusableNodesTest, AWeakNodeIsNotBlamedForAnotherOne) {
  spec_.nodes = NodeRange{1, 3};
  spec_.isolation = Isolation::pid_namespace;
  nodes_.cluster_.nodes[0].facts.gpus.pop_back();
  nodes_.cluster_.nodes[2].facts.isolation_refused = "no user namespaces";
  EXPECT_THAT(unusable(PrepareStep::plan), ElementsAre(Pair(NodeId(2), testing::_)));
}

TEST_F(UnusableNodesTest, EachHasItsOwnFault) {
  spec_.nodes = NodeRange{1, 3};
  spec_.isolation = Isolation::pid_namespace;
  nodes_.cluster_.nodes[0].facts.isolation_refused = "no user namespaces";
  nodes_.cluster_.nodes[2].facts.isolation_refused = "not mounted";
  EXPECT_THAT(
      unusable(PrepareStep::plan),
      ElementsAre(
          Pair(NodeId(0), "isolation: pid-namespace is not possible on node0: no user namespaces"),
          Pair(NodeId(2), "isolation: pid-namespace is not possible on node2: not mounted")));
}

TEST_F(UnusableNodesTest, WhatIsWrongWithAllOfThemIsNobodysFault) {
  spec_.isolation = Isolation::pid_namespace;
  for (Node& node : nodes_.cluster_.nodes) node.facts.isolation_refused = "no user namespaces";
  EXPECT_THAT(unusable(PrepareStep::plan), IsEmpty());
}

TEST_F(UnusableNodesTest, WhatTheRanksNeedIsMissing) {
  outcome_.plan = *make_plan(spec_, nodes_.cluster(), context_);
  ASSERT_EQ(outcome_.plan->nodes.size(), 3U);
  outcome_.missing = {{NodeId(0), {"no workdir", "no python3"}}, {NodeId(2), {"no workdir"}}};
  EXPECT_THAT(
      unusable(PrepareStep::prerequisites),
      ElementsAre(Pair(NodeId(0), "no workdir, no python3"), Pair(NodeId(2), "no workdir")));
  outcome_.missing[NodeId(1)] = {"no workdir"};
  EXPECT_THAT(unusable(PrepareStep::prerequisites), IsEmpty()) << "the job is at fault";
}

TEST_F(UnusableNodesTest, ASpareInTheOnlyPositionLacksSomething) {
  spec_.nodes = NodeRange{1, 1};
  ran_on({3});
  outcome_.plan = *make_plan(spec_, nodes_.cluster(), context_);
  ASSERT_EQ(outcome_.plan->nodes.size(), 1U);
  outcome_.missing = {{NodeId(0), {"no workdir"}}};
  EXPECT_THAT(unusable(PrepareStep::prerequisites), ElementsAre(Pair(NodeId(0), "no workdir")));
  ran_on({0});
  EXPECT_THAT(unusable(PrepareStep::prerequisites), IsEmpty()) << "the job ran there";
}

TEST_F(UnusableNodesTest, ANodeThatTheOthersDoNotReach) {
  outcome_.unreached = {NodeId(2)};
  EXPECT_THAT(unusable(PrepareStep::meeting), ElementsAre(Pair(NodeId(2), "what is wrong")));
  outcome_.unreached.clear();
  EXPECT_THAT(unusable(PrepareStep::meeting), IsEmpty());
}

TEST_F(UnusableNodesTest, OfTwoThatDoNotMeetItIsTheNewOne) {
  spec_.nodes = NodeRange{2, 2};
  outcome_.one_of_these = {NodeId(0), NodeId(1)};
  ran_on({3, 1});
  EXPECT_THAT(unusable(PrepareStep::meeting), ElementsAre(Pair(NodeId(0), "what is wrong")));
  ran_on({0, 3});
  EXPECT_THAT(unusable(PrepareStep::meeting), ElementsAre(Pair(NodeId(1), "what is wrong")));
  ran_on({0, 1});
  EXPECT_THAT(unusable(PrepareStep::meeting), IsEmpty()) << "they met before";
  ran_on({2, 3});
  EXPECT_THAT(unusable(PrepareStep::meeting), IsEmpty()) << "either may be at fault";
}

}  // namespace
}  // namespace dlaunch
