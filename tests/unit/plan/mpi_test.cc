// framework: mpi and horovod: the variables of their ranks, and what is refused.
#include <gmock/gmock.h>

#include "fake_cluster.h"

namespace dlaunch {
namespace {

using test::environment_of;
using test::fake_cluster;
using test::fake_context;
using test::list_job;
using test::plan_of;
using testing::HasSubstr;

JobSpec mpi_job() {
  JobSpec spec = list_job({"./solve"});
  spec.framework = Framework::mpi;
  return spec;
}

/// 3 + 1 ranks, on nodes that meet by eth0 and eth1.
Cluster uneven_cluster() {
  Cluster cluster = fake_cluster({{.cores = 4, .slots = 3}, {.cores = 4, .slots = 1}});
  cluster.meeting =
      Meeting{"10.0.0.4", "eth0, the only subnet", {{"eth0", "10.0.0.4"}, {"eth1", "10.0.0.5"}}};
  return cluster;
}

TEST(Mpi, RanksOfUnevenNodes) {
  const LaunchPlan plan = plan_of(mpi_job(), uneven_cluster());
  const Environment expected = {
      // mpirun(1) of Open MPI 4, "Exported Environment Variables"
      {"OMPI_COMM_WORLD_RANK", "3"},
      {"OMPI_COMM_WORLD_SIZE", "4"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
      {"OMPI_COMM_WORLD_NODE_RANK", "0"},  // on its node over all jobs; not the node's index
      {"OMPI_UNIVERSE_SIZE", "4"},
      // MPICH, src/pmi/src/pmi_v1.c; Hydra, src/pm/hydra/proxy/pmip_cb.c
      {"PMI_RANK", "3"},
      {"PMI_SIZE", "4"},
      {"PMI_FD", "29"},
      {"MPI_LOCALRANKID", "0"},
      {"MPI_LOCALNRANKS", "1"},
      // MPICH 5, src/util/mpir_pmi.c: with both PMI_SIZE and PMIX_NAMESPACE it refuses to choose
      {"MPIR_CVAR_PMI_VERSION", "1"},
      // orte/mca/schizo/jsm of Open MPI 4 only checks whether the variable is set
      {"JSM_JSRUN_PORT", "0"},
      // Azure Batch: "IP:port", on several nodes; Azure ML's common variable: the host alone
      {"AZ_BATCH_MASTER_NODE", "10.0.0.4:21000"},
      // Azure Batch: "IP,IP" on several nodes, without slots
      {"AZ_BATCH_HOST_LIST", "10.0.0.4,10.0.0.5"},
      {"AZ_BATCHAI_MPI_MASTER_NODE", "10.0.0.4"},
      // no RDMA device anywhere
      {"OMPI_MCA_pml", "ob1"},
      {"OMPI_MCA_btl", "self,vader,tcp"},
      {"OMPI_MCA_mtl", "^ofi,psm,psm2"},
      {"OMPI_MCA_osc", "^ucx"},
      // names differ per node
      {"OMPI_MCA_btl_tcp_if_include", "eth1"},
      {"FI_TCP_IFACE", "eth1"},
      {"UCX_NET_DEVICES", "eth1"},
      {"NCCL_SOCKET_IFNAME", "=eth1"},
      {"GLOO_SOCKET_IFNAME", "eth1"},
      {"PYTHONUNBUFFERED", "1"},
      {"DLAUNCH_RUN_ID", "20261120-210142-k3f"},
      {"DLAUNCH_RANK", "3"},
      {"DLAUNCH_WORLD_SIZE", "4"},
      {"DLAUNCH_LOCAL_RANK", "0"},
      {"DLAUNCH_NODE_RANK", "1"},
      {"DLAUNCH_HEARTBEAT_FILE",
       "/home/eve/project/runs/20261120-210142-k3f/attempt-0/rank-3.heartbeat"},
      {"DLAUNCH_ATTEMPT", "0"},
  };
  EXPECT_EQ(environment_of(plan, 3), expected);
  const Environment third = environment_of(plan, 2);
  EXPECT_EQ(third.at("OMPI_COMM_WORLD_LOCAL_RANK"), "2");
  EXPECT_EQ(third.at("OMPI_COMM_WORLD_LOCAL_SIZE"), "3");
  EXPECT_EQ(third.at("OMPI_MCA_btl_tcp_if_include"), "eth0");
}

TEST(Mpi, OneNode) {
  const Environment env = environment_of(plan_of(mpi_job(), fake_cluster({{.cores = 2}})), 0);
  EXPECT_FALSE(env.contains("AZ_BATCH_MASTER_NODE")) << "by it programs tell several nodes";
  EXPECT_FALSE(env.contains("AZ_BATCH_HOST_LIST")) << "absent on one node";
  EXPECT_EQ(env.at("AZ_BATCHAI_MPI_MASTER_NODE"), "127.0.0.1");
  EXPECT_FALSE(env.contains("OMPI_MCA_btl_tcp_if_include"));
  EXPECT_FALSE(env.contains("OMPI_MCA_mpi_yield_when_idle"));
  EXPECT_FALSE(env.contains("RANK"));
}

TEST(Mpi, TheFiveOfTorchWhereAskedFor) {
  JobSpec spec = mpi_job();
  spec.mpi.torch_variables = true;
  const Environment env = environment_of(plan_of(spec, uneven_cluster()), 2);
  EXPECT_EQ(env.at("RANK"), "2");
  EXPECT_EQ(env.at("LOCAL_RANK"), "2");
  EXPECT_EQ(env.at("WORLD_SIZE"), "4");
  EXPECT_EQ(env.at("MASTER_ADDR"), "10.0.0.4");
  EXPECT_EQ(env.at("MASTER_PORT"), "21000");
  // Lightning's LightningEnvironment: NODE_RANK x processes of a node + LOCAL_RANK.
  EXPECT_EQ(env.at("NODE_RANK"), "0");
  EXPECT_EQ(environment_of(plan_of(spec, uneven_cluster()), 3).at("NODE_RANK"), "1");
  EXPECT_FALSE(environment_of(plan_of(mpi_job(), uneven_cluster()), 3).contains("NODE_RANK"));
}

TEST(Mpi, WhereThereIsRdmaAnywhereOpenMpiChoosesForItself) {
  // A different pml on some ranks ends MPI_Init with an error, so all nodes are considered.
  Cluster cluster = uneven_cluster();
  cluster.nodes[1].facts.rdma_devices = {"mlx5_0"};
  const Environment env = environment_of(plan_of(mpi_job(), cluster), 0);
  for (const char* name : {"OMPI_MCA_pml", "OMPI_MCA_btl", "OMPI_MCA_mtl", "OMPI_MCA_osc"})
    EXPECT_FALSE(env.contains(name)) << name;
  EXPECT_EQ(env.at("OMPI_MCA_btl_tcp_if_include"), "eth0");
  EXPECT_EQ(env.at("FI_TCP_IFACE"), "eth0");
  EXPECT_FALSE(env.contains("UCX_NET_DEVICES")) << "it would hide the adapter from UCX";
}

TEST(Mpi, WhatRanksStartBy) {
  JobSpec spec = mpi_job();
  spec.mpi.pmi = Mpi::Pmi::pmix;
  const Environment pmix = environment_of(plan_of(spec, uneven_cluster()), 0);
  for (const char* name : {"PMI_RANK", "PMI_SIZE", "PMI_FD", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
                           "MPIR_CVAR_PMI_VERSION"})
    EXPECT_FALSE(pmix.contains(name)) << name;
  EXPECT_TRUE(pmix.contains("JSM_JSRUN_PORT"));
  spec.mpi.pmi = Mpi::Pmi::pmi1;
  const Environment pmi1 = environment_of(plan_of(spec, uneven_cluster()), 0);
  EXPECT_EQ(pmi1.at("PMI_RANK"), "0");
  EXPECT_EQ(pmi1.at("MPI_LOCALNRANKS"), "3");
  EXPECT_FALSE(pmi1.contains("JSM_JSRUN_PORT"));
  EXPECT_FALSE(pmi1.contains("MPIR_CVAR_PMI_VERSION"));
}

TEST(Mpi, MpirunSaysItselfHowRanksMeet) {
  JobSpec spec = mpi_job();
  spec.mpi.launcher = Mpi::Launcher::mpirun;
  Cluster cluster = uneven_cluster();
  cluster.nodes.front().facts.mpirun = "/opt/mpi/bin/mpirun";
  cluster.nodes.front().facts.mpirun_version = "mpirun (Open MPI) 4.1.4\n";
  const Environment env = environment_of(plan_of(spec, cluster), 0);
  for (const char* name : {"PMI_RANK", "PMI_SIZE", "PMI_FD", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
                           "MPIR_CVAR_PMI_VERSION", "JSM_JSRUN_PORT", "OMPI_UNIVERSE_SIZE"})
    EXPECT_FALSE(env.contains(name)) << name;
}

TEST(Mpi, WhatTheUserHasSetStays) {
  JobSpec spec = mpi_job();
  spec.env = {{"OMPI_MCA_pml", "ucx"}, {"OMPI_MCA_btl_tcp_if_exclude", "eth7"}};
  PlanContext context = fake_context();
  context.launcher_env = {{"OMPI_MCA_osc", "rdma"}};
  const Environment env = environment_of(plan_of(spec, uneven_cluster(), context), 0);
  EXPECT_EQ(env.at("OMPI_MCA_pml"), "ucx");
  EXPECT_EQ(env.at("OMPI_MCA_osc"), "rdma");
  // Open MPI refuses both lists at once.
  EXPECT_FALSE(env.contains("OMPI_MCA_btl_tcp_if_include"));
}

/// Files of the second node; ranks 0 to 2 are on the first.
Cluster with_files(Environment settings) {
  Cluster cluster = uneven_cluster();
  cluster.nodes[1].facts.mca_settings = std::move(settings);
  return cluster;
}

std::string reason_of(const LaunchPlan& plan, std::size_t node, std::string_view name) {
  for (const Variable& variable : plan.nodes[node].variables) {
    if (variable.name == name) return variable.reason;
  }
  return "not set";
}

TEST(Mpi, WhatAFileOfOpenMpiSaysStaysOnItsNode) {
  const Cluster cluster =
      with_files({{"OMPI_MCA_btl_tcp_if_include", "10.0.0.0/24"}, {"OMPI_MCA_pml", "ucx"}});
  const LaunchPlan plan = plan_of(mpi_job(), cluster);
  const Environment there = environment_of(plan, 3);
  EXPECT_EQ(there.at("OMPI_MCA_btl_tcp_if_include"), "10.0.0.0/24");
  EXPECT_EQ(there.at("OMPI_MCA_pml"), "ucx");
  EXPECT_EQ(there.at("OMPI_MCA_btl"), "self,vader,tcp");
  EXPECT_THAT(reason_of(plan, 1, "OMPI_MCA_pml"), HasSubstr("kept: set in an Open MPI file"));
  const Environment here = environment_of(plan, 0);
  EXPECT_EQ(here.at("OMPI_MCA_btl_tcp_if_include"), "eth0");
  EXPECT_EQ(here.at("OMPI_MCA_pml"), "ob1");
}

TEST(Mpi, AListOfInterfacesThatAFileExcludes) {
  const LaunchPlan plan =
      plan_of(mpi_job(), with_files({{"OMPI_MCA_btl_tcp_if_exclude", "lo,docker0"}}));
  EXPECT_FALSE(environment_of(plan, 3).contains("OMPI_MCA_btl_tcp_if_include"));
  EXPECT_EQ(environment_of(plan, 0).at("OMPI_MCA_btl_tcp_if_include"), "eth0");
}

TEST(Mpi, WhatAFileExcludesStaysExcluded) {
  const LaunchPlan plan = plan_of(mpi_job(), with_files({{"OMPI_MCA_mtl", "^ofi"},
                                                         {"OMPI_MCA_btl", "^uct,openib,vader"},
                                                         {"OMPI_MCA_pml", "^ucx"},
                                                         {"OMPI_MCA_osc", "^ucx,pt2pt"}}));
  const Environment there = environment_of(plan, 3);
  EXPECT_EQ(there.at("OMPI_MCA_pml"), "ob1");
  EXPECT_EQ(there.at("OMPI_MCA_btl"), "self,tcp");
  EXPECT_EQ(there.at("OMPI_MCA_mtl"), "^ofi,psm,psm2");
  EXPECT_EQ(there.at("OMPI_MCA_osc"), "^ucx,pt2pt");
  EXPECT_THAT(reason_of(plan, 1, "OMPI_MCA_osc"), HasSubstr("an Open MPI file excludes here"));
  const LaunchPlan none = plan_of(mpi_job(), with_files({{"OMPI_MCA_pml", "^ob1"}}));
  EXPECT_EQ(environment_of(none, 3).at("OMPI_MCA_pml"), "^ob1") << "nothing of ours is left";
}

TEST(Mpi, WhatIsSetOnANodeWinsOverItsFile) {
  Cluster cluster = with_files({{"OMPI_MCA_pml", "ucx"}});
  cluster.nodes[1].facts.environment = {{"OMPI_MCA_pml", "cm"}};
  EXPECT_EQ(environment_of(plan_of(mpi_job(), cluster), 3).at("OMPI_MCA_pml"), "cm");
}

TEST(Mpi, MoreRanksThanCoresMustBeMeant) {
  JobSpec spec = mpi_job();
  spec.processes = 3;
  const Cluster two_cores = fake_cluster({{.cores = 2}});
  const auto refused = make_plan(spec, two_cores, fake_context());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code, exit_code::kJobFile);
  EXPECT_THAT(refused.error().message,
              HasSubstr("3 MPI ranks are too many for node0, which has 2 cores"));
  EXPECT_THAT(refused.error().message, HasSubstr("mpi.oversubscribe"));
  spec.mpi.oversubscribe = true;
  EXPECT_EQ(environment_of(plan_of(spec, two_cores), 0).at("OMPI_MCA_mpi_yield_when_idle"), "1");
  // mpirun(1): the slots of a host list say how many there may be, whatever the cores.
  spec.mpi.oversubscribe = false;
  EXPECT_TRUE(make_plan(spec, fake_cluster({{.cores = 2, .slots = 3}}), fake_context()));
  // Ranks of other frameworks do not poll while they wait.
  spec.framework = Framework::none;
  EXPECT_TRUE(make_plan(spec, two_cores, fake_context()));
}

TEST(Mpi, HorovodIsTheSameAndMeetsByMpi) {
  JobSpec spec = mpi_job();
  spec.framework = Framework::horovod;
  const Environment env = environment_of(plan_of(spec, uneven_cluster()), 3);
  EXPECT_EQ(env.at("OMPI_COMM_WORLD_RANK"), "3");
  EXPECT_EQ(env.at("HOROVOD_CONTROLLER"), "mpi");
  EXPECT_EQ(env.at("HOROVOD_CPU_OPERATIONS"), "mpi");
}

TEST(Mpi, ProgramsThatStartRanksOfTheirOwnAreNoRanks) {
  JobSpec spec = mpi_job();
  for (const Launch launch : {Launch::per_node, Launch::once}) {
    spec.launch = launch;
    const auto plan = make_plan(spec, fake_cluster({{}}), fake_context());
    ASSERT_FALSE(plan);
    EXPECT_THAT(plan.error().message, HasSubstr("framework: none"));
  }
}

}  // namespace
}  // namespace dlaunch
