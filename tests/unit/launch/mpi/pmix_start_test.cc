#include "launch/mpi/pmix_start.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

LaunchPlan plan_of(std::size_t nodes) {
  LaunchPlan plan;
  plan.run_id = "20261120-210142-k3f";
  plan.attempt = Attempt(1);
  plan.framework = Framework::mpi;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    NodePlan node;
    node.id = NodeId(i);
    node.name = "gpu0" + std::to_string(i + 1);
    node.ranks = {Rank(2 * i), Rank(2 * i + 1)};
    plan.nodes.push_back(node);
  }
  return plan;
}

TEST(PmixStart, WhatTheServersAreTold) {
  EXPECT_TRUE(needs_wire_up(plan_of(1)));
  EXPECT_FALSE(needs_wire_up(LaunchPlan{}));
  LaunchPlan by_mpirun = plan_of(1);
  by_mpirun.mpirun.emplace();
  EXPECT_FALSE(needs_wire_up(by_mpirun));
  const wire::PreparePmix expected{Attempt(1),
                                   "dlaunch-20261120-210142-k3f-1-0123abcd",
                                   {{"gpu01", {{Rank(0), 2}}}, {"gpu02", {{Rank(2), 2}}}}};
  EXPECT_EQ(prepare_message(plan_of(2), Mpi::Pmi::automatic, "0123abcd"), expected);
  const wire::PreparePmix pmix = prepare_message(plan_of(2), Mpi::Pmi::pmix, "x");
  EXPECT_TRUE(pmix.pmix && !pmix.pmi1);
  const wire::PreparePmix pmi1 = prepare_message(plan_of(2), Mpi::Pmi::pmi1, "x");
  EXPECT_TRUE(!pmi1.pmix && pmi1.pmi1);
}

TEST(PmixStart, AllNodesHaveToBeReady) {
  PmixStart start(plan_of(2));
  start.add(NodeId(1), {Attempt(0), ""});  // of an earlier attempt
  start.add(NodeId(1), {Attempt(1), ""});
  start.add(NodeId(1), {Attempt(1), ""});
  EXPECT_FALSE(start.complete());
  start.add(NodeId(0), {Attempt(1), ""});
  EXPECT_TRUE(start.complete());
  EXPECT_FALSE(start.error());
}

TEST(PmixStart, EachReasonIsToldOnceWithItsNodes) {
  PmixStart start(plan_of(4));
  const std::string missing = "dlaunch-pmix cannot run: libpmix.so.2 not found";
  start.add(NodeId(3), {Attempt(1), missing});
  start.add(NodeId(1), {Attempt(1), missing});
  start.add(NodeId(2), {Attempt(1), missing});
  start.add(NodeId(0), {Attempt(1), "no folder for the PMIx server\x1b[31m"});
  ASSERT_TRUE(start.error());
  EXPECT_EQ(start.error()->exit_code, exit_code::kPreflight);
  EXPECT_EQ(start.error()->message.find("gpu01: no folder for the PMIx server"), 0U);
  EXPECT_NE(start.error()->message.find("\n         gpu[02-04]: " + missing), std::string::npos);
  EXPECT_EQ(start.error()->message.find('\x1b'), std::string::npos);
  ASSERT_EQ(start.notes().size(), 2U);
  EXPECT_EQ(start.notes()[1].find("gpu[02-04]: " + missing), 0U);
  EXPECT_NE(start.notes()[1].find("MPICH"), std::string::npos) << "who can do without";
}

}  // namespace
}  // namespace dlaunch
