#include "jobfile/launchers/inherited_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "environments.h"

namespace dlaunch::launchers {
namespace {

using namespace test;

struct Row {
  const char* what;
  WorldInput input;
  std::string world;
};

class ForeignWorld : public testing::TestWithParam<Row> {};

TEST_P(ForeignWorld, IsRead) {
  EXPECT_EQ(shown(foreign_world(GetParam().input)), GetParam().world);
}

WorldInput with(WorldInput input, std::optional<std::uint32_t> processes,
                const std::string& master = "") {
  input.processes = processes;
  input.master_address = master;
  return input;
}

const Environment kSlurmJob{{"SLURM_JOB_ID", "77"},
                            {"SLURM_JOB_NODELIST", "node[01-02]"},
                            {"SLURM_TASKS_PER_NODE", "3,1"},
                            {"SLURM_PROCID", "0"},
                            {"SLURM_NODEID", "0"}};

const Environment kPbs{{"PBS_JOBID", "12.head"}, {"PBS_NODEFILE", "/aux/12"}};
const std::map<std::string, std::string> kPbsFile{{"/aux/12", "a\na\nb\nb\n"}};

const Environment kJsrun{{"JSM_NAMESPACE_RANK", "2"},
                         {"JSM_NAMESPACE_SIZE", "4"},
                         {"JSM_NAMESPACE_LOCAL_RANK", "0"},
                         {"JSM_NAMESPACE_LOCAL_SIZE", "2"},
                         {"LSB_JOBID", "815"},
                         {"LSB_DJOB_RANKFILE", "/lsf/rankfile"}};

const Environment kPod{{"JOB_COMPLETION_INDEX", "2"}};
const std::map<std::string, std::string> kHosts{
    {"/etc/hosts",
     "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n"
     "10.1.0.7\ttrain-2.ring.default.svc.cluster.local\ttrain-2\n"}};

const Row kRows[] = {
    {"OpenMpiOnOneNode", input_on("vm", open_mpi_4(1, 3, 1, 3)),
     "rank 1/3 local 1/3 node 0/1 master 127.0.0.1 (the only node) job mpirun-958267393"},
    {"OpenMpi5", input_on("vm", open_mpi_5(1, 3, 1, 3)),
     "rank 1/3 local 1/3 node 0/1 master 127.0.0.1 (the only node) job prterun-node01-4711@1"},
    {"OpenMpiOnNodesThatOnlyTheUserKnows",
     with(input_on("b", open_mpi_4(3, 4, 1, 2)), {}, "a.cluster"),
     "rank 3/4 local 1/2 node 1/2 master a.cluster (--master-addr) job mpirun-958267393"},
    // mpirun starts its daemons by srun: SLURM_PROCID is the daemon's
    {"OpenMpiInASlurmJobFilledBySlots", input_on("node02", open_mpi_4(3, 4, 0, 1) + kSlurmJob),
     "rank 3/4 local 0/1 node 1/2 master node01 (first host of SLURM_JOB_NODELIST) job "
     "mpirun-958267393"},
    {"OpenMpiInASlurmJobEvenly", input_on("node02", open_mpi_4(1, 2, 0, 1) + kSlurmJob),
     "rank 1/2 local 0/1 node 1/2 master node01 (first host of SLURM_JOB_NODELIST) job "
     "mpirun-958267393"},
    {"OpenMpiInAPbsJob", input_on("b.cluster.local", open_mpi_4(2, 4, 0, 2) + kPbs, kPbsFile),
     "rank 2/4 local 0/2 node 1/2 master a (first host of PBS_NODEFILE) job mpirun-958267393"},
    {"OpenMpiInAnAzureBatchTask",
     input_on("vm1",
              open_mpi_4(1, 2, 0, 1) + Environment{{"AZ_BATCH_HOST_LIST", "10.0.0.4,10.0.0.5"},
                                                   {"AZ_BATCH_MASTER_NODE", "10.0.0.4:6000"}}),
     "rank 1/2 local 0/1 node 1/2 master 10.0.0.4 (first host of AZ_BATCH_HOST_LIST) job "
     "mpirun-958267393"},
    // dlaunch export mpirun: names that only ssh understands, and uneven nodes
    {"HydraWithTheHostsOfAnExport",
     with(input_on("vm2", hydra(3, 4, 0, 1) + Environment{{"DLAUNCH_HOSTS", "alias1:3,alias2:1"}}),
          {}, "10.0.0.4"),
     "rank 3/4 local 0/1 node 1/2 master 10.0.0.4 (--master-addr) job command-e5a59999"},
    {"HydraOnOneNode", input_on("vm", hydra(1, 2, 1, 2)),
     "rank 1/2 local 1/2 node 0/1 master 127.0.0.1 (the only node) job command-cc4255e4"},
    {"HydraInAnLsfJob",
     input_on("hostB", hydra(4, 6, 0, 2) + Environment{{"LSB_JOBID", "815"},
                                                       {"LSB_MCPU_HOSTS", "hostA 4 hostB 2"}}),
     "rank 4/6 local 0/2 node 1/2 master hostA (first host of LSB_MCPU_HOSTS) job lsf-815"},
    {"HydraInASlurmJobWhoseProxiesSrunHasStarted",
     input_on("node02", hydra(2, 4, 0, 2) + srun_3_and_1(3) +
                            Environment{{"SLURM_STEP_NUM_TASKS", "2"},
                                        {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                                        {"SLURM_PROCID", "1"},
                                        {"SLURM_JOB_NODELIST", "node[01-02]"}}),
     "rank 2/4 local 0/2 node 1/2 master node01 (first host of SLURM_JOB_NODELIST) job slurm-77"},
    {"Srun", input_on("anything", srun_3_and_1(1)),
     "rank 1/4 local 1/3 node 0/2 master node01 (first host of SLURM_STEP_NODELIST) job "
     "slurm-77.0"},
    {"SrunUneven", input_on("anything", srun_3_and_1(3)),
     "rank 3/4 local 0/1 node 1/2 master node01 (first host of SLURM_STEP_NODELIST) job "
     "slurm-77.0"},
    {"SrunCyclic",
     input_on("anything", srun_3_and_1(1) + Environment{{"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                                                        {"SLURM_LOCALID", "0"},
                                                        {"SLURM_NODEID", "1"},
                                                        {"SLURMD_NODENAME", "node02"}}),
     "rank 1/4 local 0/2 node 1/2 master node01 (first host of SLURM_STEP_NODELIST) job "
     "slurm-77.0"},
    {"SrunWithPmi2",
     input_on("anything", srun_3_and_1(1) + Environment{{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}),
     "rank 1/4 local 1/3 node 0/2 master node01 (first host of SLURM_STEP_NODELIST) job "
     "slurm-77.0"},
    {"PbsdshOfTorque",
     input_on("b", kPbs + Environment{{"PBS_VNODENUM", "3"}, {"PBS_NODENUM", "1"}}, kPbsFile),
     "rank 3/4 local 1/2 node 1/2 master a (first host of PBS_NODEFILE) job pbs-12.head"},
    {"PbsdshOfOpenPbs",
     input_on("b", kPbs + Environment{{"PBS_NODENUM", "1"}, {"PBS_TASKNUM", "1"}},
              {{"/aux/12", "a\nb\n"}}),
     "rank 1/2 local 0/1 node 1/2 master a (first host of PBS_NODEFILE) job pbs-12.head"},
    {"Jsrun", input_on("h2", kJsrun, {{"/lsf/rankfile", "batch5\nh1\nh1\nh2\nh2\n"}}),
     "rank 2/4 local 0/2 node 1/2 master h1 (first host of LSB_DJOB_RANKFILE) job lsf-815"},
    {"KubernetesIndexedJob", with(input_on("train-2", kPod, kHosts), 4),
     "rank 2/4 local 0/1 node 2/4 master train-0.ring.default.svc.cluster.local (first host of "
     "the pods of the job) job kubernetes-train"},
    {"KubernetesWithoutASubdomain", with(input_on("train-2", kPod), 4, "train-0.ring"),
     "rank 2/4 local 0/1 node 2/4 master train-0.ring (--master-addr) job kubernetes-train"},
};

INSTANTIATE_TEST_SUITE_P(Launchers, ForeignWorld, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.what); });

TEST(ForeignWorldDetails, SrunCountsRestartsAndCores) {
  const auto world = foreign_world(input_on(
      "node01",
      srun_3_and_1(0) + Environment{{"SLURM_RESTART_COUNT", "2"}, {"SLURM_CPUS_PER_TASK", "6"}}));
  ASSERT_TRUE(world) << world.error().message;
  EXPECT_EQ(world->restarts, 2U);
  EXPECT_EQ(world->threads, 6U);
  EXPECT_EQ(world->hosts, (std::vector<WorldHost>{{"node01", 3}, {"node02", 1}}));
  EXPECT_TRUE(world->in_order);
}

TEST(ForeignWorldDetails, CyclicTasksAreNotInOrder) {
  const auto world = foreign_world(
      input_on("node02", srun_3_and_1(1) + Environment{{"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                                                       {"SLURM_LOCALID", "0"},
                                                       {"SLURM_NODEID", "1"},
                                                       {"SLURMD_NODENAME", "node02"}}));
  ASSERT_TRUE(world) << world.error().message;
  EXPECT_FALSE(world->in_order);
}

// srun(1): SLURM_GTIDS are the tasks of this node.
TEST(ForeignWorldDetails, TheFirstTaskOfANodeSeesThatTheOthersAreElsewhere) {
  const auto in_order = [](const char* ids) {
    const auto world =
        foreign_world(input_on("node01", srun_3_and_1(0) + Environment{{"SLURM_GTIDS", ids}}));
    return world && world->in_order;
  };
  EXPECT_TRUE(in_order("0,1,2"));
  EXPECT_TRUE(in_order(""));
  EXPECT_FALSE(in_order("0,2,3"));
}

TEST(ForeignWorldDetails, EveryRankOfOneJobComputesTheSameMasterAndId) {
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const auto world = foreign_world(input_on("x", srun_3_and_1(rank)));
    ASSERT_TRUE(world) << world.error().message;
    EXPECT_EQ(world->master + " " + world->job_id, "node01 slurm-77.0");
  }
}

TEST(ForeignWorldDetails, AnotherCommandIsAnotherJobWhereTheLauncherHasNoId) {
  WorldInput other = input_on("vm", hydra(1, 2, 1, 2));
  const auto first = foreign_world(other);
  other.command.emplace_back("--lr=1");
  const auto second = foreign_world(other);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->job_id, second->job_id);
}

TEST(ForeignWorldDetails, ASingleProcessNeedsNoLocalRank) {
  const auto world = foreign_world(input_on("vm", {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}));
  ASSERT_TRUE(world) << world.error().message;
  EXPECT_EQ(world->local_size, 1U);
}

}  // namespace
}  // namespace dlaunch::launchers
