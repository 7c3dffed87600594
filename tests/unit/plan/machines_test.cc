#include "plan/machines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/make_plan.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Node node(const std::string& name, const std::string& machine, const std::string& address,
          int cores = 4) {
  Node made;
  made.name = made.address = name;
  made.facts.machine = machine;
  made.facts.hostname = "host-" + machine;
  NetworkInterface eth0;
  eth0.name = "eth0";
  eth0.is_up = true;
  eth0.addresses = {{address, 24}};
  made.facts.interfaces = {eth0};
  made.facts.reserved_ports = {21000};
  for (int cpu = 0; cpu < cores; ++cpu) made.facts.cores.push_back({0, {cpu}, false});
  return made;
}

/// The first CPUs of the cores of a share.
std::vector<int> cpus_of(const MachineShare& share) {
  std::vector<int> cpus;
  for (const CpuCore& core : share.mine) cpus.push_back(core.threads.front());
  return cpus;
}

TEST(Machines, TwoNamesOfOneMachineAreRefusedAndNamed) {
  const Cluster cluster{{node("gpu1", "a", "10.0.0.1"), node("gpu2", "b", "10.0.0.2"),
                         node("10.0.0.1", "a", "10.0.0.1")},
                        {}};
  const Status checked = check_machines({}, cluster);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().exit_code, exit_code::kJobFile);
  EXPECT_THAT(checked.error().message,
              HasSubstr("the hosts \"gpu1\" and \"10.0.0.1\" are one machine, whose host name is "
                        "host-a"));
}

TEST(Machines, APlanOfThemIsThatErrorAndNobodyMeets) {
  JobSpec spec;
  spec.command.argv = {"true"};
  const Cluster cluster{{node("gpu1", "a", "10.0.0.1"), node("gpu1.lan", "a", "10.0.0.1")}, {}};
  const auto plan = make_plan(spec, cluster, {});
  ASSERT_FALSE(plan.has_value());
  EXPECT_THAT(plan.error().message, HasSubstr("are one machine"));
  EXPECT_FALSE(nodes_to_meet(spec, cluster, {}).has_value());
}

TEST(Machines, SeveralAgentsOfOneMachineMayBeAskedFor) {
  JobSpec spec;
  spec.connect.via = Connect::Via::local;
  EXPECT_TRUE(
      check_machines(spec, {{node("n1", "a", "10.0.0.1"), node("n2", "a", "10.0.0.1")}, {}}));
}

TEST(Machines, WhatIsNotKnownIsNotTheSame) {
  EXPECT_TRUE(check_machines({}, {{node("n1", "", ""), node("n2", "", "")}, {}}));
}

// Machines restored from one memory image share the boot id.
TEST(Machines, ClonesHaveOtherAddressesOrNames) {
  Node clone = node("gpu2", "a", "10.0.0.2");
  EXPECT_TRUE(check_machines({}, {{node("gpu1", "a", "10.0.0.1"), clone}, {}}));
  clone = node("gpu2", "a", "10.0.0.1");
  clone.facts.hostname = "other";
  EXPECT_TRUE(check_machines({}, {{node("gpu1", "a", "10.0.0.1"), clone}, {}}));
}

TEST(Machines, AMachineForItselfIsNotShared) {
  const Cluster cluster{{node("n1", "a", "10.0.0.1"), node("n2", "b", "10.0.0.2")}, {}};
  for (const MachineShare& share : share_machines(cluster, {2, 2})) {
    EXPECT_EQ(share.nodes, 1U);
    EXPECT_TRUE(share.mine.empty());
  }
}

TEST(Machines, CoresAreSharedOutByRanks) {
  Cluster cluster{
      {node("n1", "a", "", 8), node("n2", "a", "", 8), node("n3", "b", ""), node("n4", "a", "", 8)},
      {}};
  cluster.nodes[0].facts.cores[0].taken = true;  // by another run
  const auto shares = share_machines(cluster, {2, 1, 4, 0});
  EXPECT_THAT(cpus_of(shares[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(cpus_of(shares[1]), ElementsAre(5, 6, 7));
  EXPECT_EQ(shares[0].nodes, 2U) << "n4 has no ranks";
  EXPECT_EQ(shares[2].nodes, 1U);
}

TEST(Machines, FewerCoresThanRanksBindNobodyAndThePlanSaysWhy) {
  JobSpec spec;
  spec.command.argv = {"true"};
  spec.connect.via = Connect::Via::local;
  spec.framework = Framework::none;
  Cluster cluster;
  for (int i = 0; i < 5; ++i) cluster.nodes.push_back(node("n" + std::to_string(i), "a", ""));
  const auto plan = make_plan(spec, cluster, {});
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_EQ(plan->nodes[3].binding_note,
            "not bound: 5 nodes are this machine, with 5 ranks for 4 free cores");
  for (const RankPlan& rank : plan->ranks) EXPECT_TRUE(rank.cpus.empty());
}

TEST(Machines, RanksOfSharedMachinesAreBoundToDifferentCores) {
  JobSpec spec;
  spec.command.argv = {"true"};
  spec.connect.via = Connect::Via::local;
  const Cluster cluster{{node("n1", "a", ""), node("n2", "a", "")}, {}};
  const auto plan = make_plan(spec, cluster, {});
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_THAT(plan->ranks[0].cpus, ElementsAre(0, 1));
  EXPECT_THAT(plan->ranks[1].cpus, ElementsAre(2, 3));
  EXPECT_EQ(plan->nodes[0].binding_note, "bound: 2 cores shared evenly; 2 nodes are this machine");
}

}  // namespace
}  // namespace dlaunch
