#include "plan/mpirun_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using testing::HasSubstr;

JobSpec job() {
  JobSpec spec;
  spec.name = "ring";
  spec.framework = Framework::mpi;
  spec.command.argv = {"./ring"};
  spec.mpi.launcher = Mpi::Launcher::mpirun;
  spec.env = {{"WORD", "a b"}, {"OMPI_MCA_plm_rsh_agent", "ssh"}};
  return spec;
}

Cluster nodes(std::size_t count) {
  Cluster cluster;
  for (std::size_t i = 0; i < count; ++i) {
    Node node;
    node.name = "node" + std::to_string(i + 1);
    node.address = "10.0.0." + std::to_string(i + 1);
    node.slots = 2;
    node.is_launcher = i == 0;
    node.facts.user_id = 1000;
    for (int cpu = 0; cpu < 4; ++cpu) node.facts.cores.push_back({0, {cpu}, false});
    node.facts.reserved_ports = {20001};
    node.facts.interfaces = {
        {"eth0", NetworkInterface::Kind::physical, true, 1000, 1500, "", {{node.address, 24}}}};
    cluster.nodes.push_back(std::move(node));
  }
  cluster.nodes.front().facts.mpirun = "/opt/mpi/bin/mpirun";
  cluster.nodes.front().facts.mpirun_version = "mpirun (Open MPI) 4.1.4\n";
  if (count > 1) cluster.meeting = Meeting{"10.0.0.1", "tried", {}};
  return cluster;
}

PlanContext context() {
  PlanContext context;
  context.run_id = "20261122-080000-abc";
  context.attempt = Attempt(1);
  context.current_folder = "/home/me";
  context.run_folder = "/home/me/runs/20261122-080000-abc";
  return context;
}

std::string line_of(const Result<LaunchPlan>& plan) {
  if (!plan) return plan.error().message;
  std::string line;
  for (const std::string& word : plan->mpirun->argv) line += (line.empty() ? "" : " ") + word;
  return line;
}

/// mpirun's command line would override it.
TEST(MpirunPlan, AFileThatNamesInterfacesStays) {
  Cluster cluster = nodes(2);
  cluster.nodes[1].facts.mca_settings = {{"OMPI_MCA_btl_tcp_if_exclude", "docker0"}};
  EXPECT_THAT(line_of(make_plan(job(), cluster, context())),
              testing::Not(HasSubstr("btl_tcp_if_include")));
}

TEST(MpirunPlan, TheWholeLineOfOpenMpi) {
  const auto plan = make_plan(job(), nodes(2), context());
  EXPECT_EQ(
      line_of(plan),
      "/opt/mpi/bin/mpirun --hostfile /home/me/runs/20261122-080000-abc/attempt-1/mpirun.hosts "
      "-np 4 --map-by ppr:2:node:PE=2 --bind-to core --allow-run-as-root --wdir /home/me "
      "--mca btl_tcp_if_include 10.0.0.1/24 "
      "--mca orte_tmpdir_base /tmp/dlaunch-1000/join-20261122-080000-abc-1 "
      "/tmp/dlaunch-1000/join-20261122-080000-abc-1/dlaunch "
      "exec --join /tmp/dlaunch-1000/join-20261122-080000-abc-1");
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->nodes.front().files.size(), 1U);
  EXPECT_EQ(plan->nodes.front().files.front().text, "node1 slots=2\nnode2 slots=2\n");
  EXPECT_EQ(plan->mpirun->environment, (Environment{{"OMPI_MCA_plm_rsh_agent", "ssh"}}))
      << "what is not for mpirun itself does not pass it";
  EXPECT_TRUE(plan->ranks.front().cpus.empty());  // mpirun binds
  EXPECT_TRUE(plan->hosts.empty());
}

/// The path is the same on all nodes, and the name of a user's private folder contains the user id.
TEST(MpirunPlan, AUserWhoseNumbersDiffer) {
  Cluster cluster = nodes(2);
  cluster.nodes[1].facts.user_id = 1001;
  EXPECT_THAT(line_of(make_plan(job(), cluster, context())),
              HasSubstr("exec --join /tmp/dlaunch-join-20261122-080000-abc-1"));
}

TEST(MpirunPlan, AFolderForOpenMpisOwnFilesThatIsSetStays) {
  JobSpec spec = job();
  spec.env["OMPI_MCA_orte_tmpdir_base"] = "/scratch";
  EXPECT_THAT(line_of(make_plan(spec, nodes(2), context())),
              testing::Not(HasSubstr("orte_tmpdir_base")));
  Cluster cluster = nodes(2);
  cluster.nodes.front().facts.mpirun_version = "mpirun (Open MPI) 5.0.11\n";
  EXPECT_THAT(line_of(make_plan(job(), cluster, context())),
              HasSubstr("--prtemca prte_tmpdir_base /tmp/dlaunch-1000/join-"));
}

TEST(MpirunPlan, ANodeWithoutRanksIsNoHostOfMpirun) {
  JobSpec spec = job();
  spec.processes = 2;
  const auto plan = make_plan(spec, nodes(2), context());
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->ranks.back().node, NodeRank(0));
  EXPECT_EQ(plan->nodes.front().files.front().text, "localhost slots=2\n");
}

TEST(MpirunPlan, SecretsAreTakenOutOfWhatMpirunInherits) {
  JobSpec spec = job();
  spec.env_secret = {"TOKEN"};
  PlanContext with_secret = context();
  with_secret.launcher_env = {{"TOKEN", "t0ps3cret"}};
  const auto plan = make_plan(spec, nodes(2), with_secret);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(plan->scrubbed, testing::Contains("TOKEN"));
  EXPECT_FALSE(plan->mpirun->environment.contains("TOKEN"));
}

TEST(MpirunPlan, ALoneNodeIsCalledLocalhost) {
  Cluster cluster = nodes(1);
  cluster.nodes.front().facts.mpirun_version = "HYDRA build details:\n";
  const auto plan = make_plan(job(), cluster, context());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->nodes.front().files.front().text, "localhost:2\n");
  EXPECT_THAT(line_of(plan), testing::Not(HasSubstr("-localhost")));
}

// Variables that mpirun itself sets for its ranks are not set by dlaunch.
TEST(MpirunPlan, RanksHaveNoSignOfAnotherServer) {
  const auto plan = make_plan(job(), nodes(2), context());
  ASSERT_TRUE(plan);
  for (const Variable& variable : plan->variables) {
    EXPECT_NE(variable.name, "JSM_JSRUN_PORT");
    EXPECT_NE(variable.name, "OMPI_UNIVERSE_SIZE");
  }
}

TEST(MpirunPlan, WhatIsMissingIsSaid) {
  Cluster cluster = nodes(2);
  cluster.nodes.front().facts.mpirun.clear();
  auto plan = make_plan(job(), cluster, context());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().exit_code, exit_code::kNodeLost);
  EXPECT_THAT(plan.error().message, HasSubstr("there is no mpirun on node1"));
  EXPECT_THAT(plan.error().message, HasSubstr("openmpi-bin"));

  cluster = nodes(2);
  cluster.nodes.front().facts.mpirun_version = "mpirun (Open MPI) 3.1.0\n";
  plan = make_plan(job(), cluster, context());
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("it calls itself: mpirun (Open MPI) 3.1.0"));

  JobSpec spec = job();
  spec.connect.via = Connect::Via::local;
  EXPECT_THAT(line_of(make_plan(spec, nodes(2), context())), HasSubstr("connect.via: local"));
}

TEST(MpirunPlan, ProgramsToLookFor) {
  JobSpec spec = job();
  EXPECT_EQ(mpirun_programs(spec).front(), "mpirun");
  spec.mpi.program = "/opt/intel/mpiexec";
  EXPECT_EQ(mpirun_programs(spec), std::vector<std::string>{"/opt/intel/mpiexec"});
  spec.mpi.launcher = Mpi::Launcher::dlaunch;
  EXPECT_TRUE(mpirun_programs(spec).empty());
}

}  // namespace
}  // namespace dlaunch
