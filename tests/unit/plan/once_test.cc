#include <gmock/gmock.h>

#include "fake_cluster.h"
#include "plan/mpirun.h"

namespace dlaunch {
namespace {

using test::environment_of;
using test::error_of;
using test::fake_cluster;
using test::fake_context;
using test::list_job;
using test::plan_of;

constexpr const char* kAttempt = "/home/eve/project/runs/20261120-210142-k3f/attempt-0";

JobSpec once_job() {
  JobSpec spec = list_job({"deepspeed", "train.py"});
  spec.launch = Launch::once;
  return spec;
}

TEST(Hostfile, DialectsOfTheLaunchers) {
  const std::vector<HostSlots> hosts = {{"gpu01", 8}, {"gpu02.cluster", 4}};
  // deepspeed/launcher/runner.py: name, white space, slots=digits. orte_hosts(7): "slots=".
  // Horovod's file has the same form, and takes no comments.
  EXPECT_EQ(hostfile_text(HostfileDialect::slots, hosts), "gpu01 slots=8\ngpu02.cluster slots=4\n");
  // Hydra: "host:processes" (MPICH wiki, "Using the Hydra Process Manager"); "slots=" is an error.
  EXPECT_EQ(hostfile_text(HostfileDialect::hydra, hosts), "gpu01:8\ngpu02.cluster:4\n");
}

TEST(Once, OneProcessOnTheFirstNodeAndTheOthersInItsHostfile) {
  const LaunchPlan plan = plan_of(once_job(), fake_cluster({{.gpus = 8}, {.gpus = 4}}));
  ASSERT_EQ(plan.ranks.size(), 1U);
  ASSERT_EQ(plan.nodes.size(), 1U);
  EXPECT_EQ(plan.hosts, (std::vector<HostSlots>{{"node0", 8}, {"node1", 4}}))
      << "as many slots as ranks there would be";
  const std::string folder = kAttempt;
  EXPECT_EQ(plan.nodes[0].files,
            (std::vector<FilePlan>{{folder + "/hostfile", "node0 slots=8\nnode1 slots=4\n"},
                                   {folder + "/hostfile.hydra", "node0:8\nnode1:4\n"}}));
  EXPECT_EQ(plan.ranks[0].gpus.size(), 8U) << "its workers need all of them";
  EXPECT_THAT(plan.notes, testing::IsEmpty());
}

TEST(Once, VariablesOfALauncher) {
  // It gives its own processes RANK and the like, so none are set, and inherited ones are scrubbed.
  const LaunchPlan plan = plan_of(once_job(), fake_cluster({{.gpus = 8}, {.gpus = 4}}));
  const std::string folder = kAttempt;
  const Environment expected = {
      {"MASTER_ADDR", "addr-of-node0"},
      {"MASTER_PORT", "21000"},
      {"DLAUNCH_HOSTFILE", folder + "/hostfile"},
      {"DLAUNCH_HOSTFILE_HYDRA", folder + "/hostfile.hydra"},
      {"DLAUNCH_NODES", "2"},
      {"DLAUNCH_SLOTS", "12"},
      // What Kubeflow's mpi-operator sets for the launcher of an MPIJob.
      {"OMPI_MCA_orte_default_hostfile", folder + "/hostfile"},  // orte_hosts(7)
      {"HYDRA_HOST_FILE", folder + "/hostfile.hydra"},           // mpiexec of MPICH
      {"I_MPI_HYDRA_HOST_FILE", folder + "/hostfile.hydra"},     // Intel MPI
      {"PYTHONUNBUFFERED", "1"},
      {"DLAUNCH_RUN_ID", "20261120-210142-k3f"},
      {"DLAUNCH_RANK", "0"},
      {"DLAUNCH_WORLD_SIZE", "1"},
      {"DLAUNCH_LOCAL_RANK", "0"},
      {"DLAUNCH_NODE_RANK", "0"},
      {"DLAUNCH_HEARTBEAT_FILE", folder + "/rank-0.heartbeat"},
      {"DLAUNCH_ATTEMPT", "0"},
  };
  EXPECT_EQ(environment_of(plan, 0), expected);
  for (const char* name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "NODE_RANK", "TORCHELASTIC_*"})
    EXPECT_THAT(plan.scrubbed, testing::Contains(name));
  EXPECT_EQ(plan.ranks[0].ports, std::vector<std::uint16_t>{21000});
}

TEST(Once, OnOneNodeAnMpirunCountsItsCoresItself) {
  const Environment env = environment_of(plan_of(once_job(), fake_cluster({{}})), 0);
  for (const char* name :
       {"OMPI_MCA_orte_default_hostfile", "HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE"})
    EXPECT_FALSE(env.contains(name)) << name;
  EXPECT_EQ(env.at("MASTER_ADDR"), "127.0.0.1");
}

TEST(Once, AHostfileOfTheUsersOwnIsKept) {
  JobSpec spec = once_job();
  spec.env = {{"HYDRA_HOST_FILE", "mine"}};
  PlanContext context = fake_context();
  context.launcher_env = {{"OMPI_MCA_orte_default_hostfile", "theirs"}};
  const Environment env = environment_of(plan_of(spec, fake_cluster({{}, {}}), context), 0);
  EXPECT_EQ(env.at("HYDRA_HOST_FILE"), "mine");
  EXPECT_EQ(env.at("OMPI_MCA_orte_default_hostfile"), "theirs");
  EXPECT_EQ(env.at("I_MPI_HYDRA_HOST_FILE"), std::string(kAttempt) + "/hostfile.hydra");
}

TEST(Once, WithoutAFrameworkThereIsNoMaster) {
  JobSpec spec = once_job();
  spec.framework = Framework::none;
  const LaunchPlan plan = plan_of(spec, fake_cluster({{}}));
  EXPECT_FALSE(environment_of(plan, 0).contains("MASTER_ADDR"));
  EXPECT_TRUE(environment_of(plan, 0).contains("DLAUNCH_HOSTFILE"));
  EXPECT_EQ(ports_wanted(spec), 0U);
}

TEST(Once, SlotsFollowTheRulesOfRanks) {
  JobSpec spec = once_job();
  spec.processes_per_node = {ProcessesPerNode::Kind::count, 2};
  EXPECT_EQ(plan_of(spec, fake_cluster({{.gpus = 8}, {}})).hosts,
            (std::vector<HostSlots>{{"node0", 2}, {"node1", 2}}));
  spec = once_job();
  spec.processes = 5;
  const LaunchPlan plan = plan_of(spec, fake_cluster({{.slots = 4}, {.slots = 4}, {.slots = 4}}));
  EXPECT_EQ(plan.hosts, (std::vector<HostSlots>{{"node0", 4}, {"node1", 1}}));
  EXPECT_THAT(plan.notes, testing::ElementsAre("1 of 3 nodes get no rank"));
}

TEST(Once, ANewAttemptHasNewFiles) {
  PlanContext context = fake_context();
  context.attempt = Attempt(2);
  const LaunchPlan plan = plan_of(once_job(), fake_cluster({{}}), context);
  EXPECT_THAT(plan.nodes[0].files[0].path, testing::EndsWith("/attempt-2/hostfile"));
  EXPECT_THAT(environment_of(plan, 0).at("DLAUNCH_HOSTFILE"),
              testing::EndsWith("/attempt-2/hostfile"));
}

TEST(Once, WhatDoesNotGoTogether) {
  JobSpec spec = once_job();
  spec.framework = Framework::tensorflow;
  EXPECT_THAT(error_of(spec, fake_cluster({{}})), testing::HasSubstr("use framework: none"));
  spec = once_job();
  spec.binding.gpus = Binding::Gpus::one_per_process;
  EXPECT_THAT(error_of(spec, fake_cluster({{.gpus = 2}})), testing::HasSubstr("launch: once"));
  spec = once_job();
  spec.roles = {test::role("worker", 2)};
  EXPECT_EQ(error_of(spec, fake_cluster({{}})),
            "roles give numbers of processes, but launch: once starts a single one");
}

}  // namespace
}  // namespace dlaunch
