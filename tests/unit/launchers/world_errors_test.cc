// Inconsistent worlds: the error messages, and that nothing is guessed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "environments.h"
#include "jobfile/launchers/inherited_world.h"

namespace dlaunch::launchers {
namespace {

using namespace test;
using testing::HasSubstr;

std::string refusal(WorldInput input, int code = exit_code::kPreflight) {
  const auto world = foreign_world(input);
  if (!world) {
    EXPECT_EQ(world.error().exit_code, code) << world.error().message;
    return world.error().message;
  }
  ADD_FAILURE() << "not refused: " << shown(world);
  return "";
}

TEST(ForeignWorldErrors, NoLauncher) {
  EXPECT_THAT(refusal(input_on("vm", {})), HasSubstr("no launcher started this process"));
  EXPECT_THAT(refusal(input_on("vm", {{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}})),
              HasSubstr("srun dlaunch exec"));
  EXPECT_THAT(refusal(input_on("vm", {{"AZ_BATCH_TASK_ID", "t"}})),
              HasSubstr("mpirun -host $AZ_BATCH_HOST_LIST"));
  EXPECT_THAT(refusal(input_on("vm", {{"LSB_JOBID", "7"}})), HasSubstr("LSF job"));
  EXPECT_THAT(refusal(input_on("vm", {{"DLAUNCH_RANK", "0"}})), HasSubstr("already"));
}

TEST(ForeignWorldErrors, ARankWithoutASizeAndTheOtherWayRound) {
  EXPECT_EQ(refusal(input_on("vm", {{"PMI_RANK", "0"}})), "PMI_RANK is set, but PMI_SIZE is not");
  EXPECT_EQ(refusal(input_on("vm", {{"OMPI_COMM_WORLD_SIZE", "2"}})),
            "OMPI_COMM_WORLD_SIZE is set, but OMPI_COMM_WORLD_RANK is not");
}

TEST(ForeignWorldErrors, NumbersThatAreNoneOrTooLarge) {
  const auto rank_is = [](const std::string& rank) {
    return input_on("vm", open_mpi_4(0, 2, 0, 2) + Environment{{"OMPI_COMM_WORLD_RANK", rank}});
  };
  EXPECT_EQ(refusal(rank_is("x")), "OMPI_COMM_WORLD_RANK should be a number, but is \"x\"");
  EXPECT_EQ(refusal(rank_is("-1")), "OMPI_COMM_WORLD_RANK should be a number, but is \"-1\"");
  EXPECT_EQ(refusal(rank_is("1 ")), "OMPI_COMM_WORLD_RANK should be a number, but is \"1 \"");
  EXPECT_EQ(refusal(rank_is("4294967297")),
            "OMPI_COMM_WORLD_RANK should be a number, but is \"4294967297\"");
  EXPECT_EQ(refusal(rank_is("2")), "OMPI_COMM_WORLD_RANK is 2, but OMPI_COMM_WORLD_SIZE is 2");
}

TEST(ForeignWorldErrors, LocalNumbersBeyondTheWorlds) {
  EXPECT_EQ(refusal(input_on("vm", open_mpi_4(0, 2, 0, 3))),
            "OMPI_COMM_WORLD_LOCAL_SIZE is 3, but OMPI_COMM_WORLD_SIZE is 2");
  EXPECT_EQ(refusal(input_on("vm", open_mpi_4(3, 4, 2, 2))),
            "OMPI_COMM_WORLD_LOCAL_RANK is 2, but OMPI_COMM_WORLD_LOCAL_SIZE is 2");
  EXPECT_EQ(refusal(input_on("vm", open_mpi_4(0, 4, 1, 2))),
            "OMPI_COMM_WORLD_LOCAL_RANK is 1, but OMPI_COMM_WORLD_RANK is 0");
  EXPECT_THAT(refusal(input_on("vm", open_mpi_4(1, 2, 0, 2))),
              HasSubstr("all 2 ranks are on this node, but rank 1 has the local rank 0"));
}

TEST(ForeignWorldErrors, TwoLaunchersThatDisagree) {
  EXPECT_THAT(refusal(input_on("vm", open_mpi_4(0, 4, 0, 4) + hydra(0, 2, 0, 2))),
              HasSubstr("this is rank 0 of 4 for mpirun (Open MPI), but rank 0 of 2 for mpiexec "
                        "(Hydra)"));
}

TEST(ForeignWorldErrors, UnknownLocalRanks) {
  EXPECT_THAT(refusal(input_on("vm", {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}})),
              HasSubstr("does not tell this process its local rank"));
  EXPECT_THAT(refusal(input_on("vm", {{"PMI_ID", "0"}, {"PMI_PORT", "a:1"}})),
              HasSubstr("-pmi-port"));
}

TEST(ForeignWorldErrors, NobodyNamesTheMaster) {
  EXPECT_THAT(refusal(input_on("b", open_mpi_4(3, 4, 1, 2))),
              HasSubstr("--master-addr HOST, the host of rank 0"));
}

TEST(ForeignWorldErrors, RanksThatDoNotCountUpNodeByNode) {
  // mpirun --map-by node: rank 1 is the first of the second node
  WorldInput input = input_on("b", open_mpi_4(1, 4, 0, 2));
  input.master_address = "a";
  EXPECT_THAT(refusal(input), HasSubstr("--map-by slot"));
  input = input_on("b", open_mpi_4(0, 4, 0, 3));
  input.master_address = "a";
  EXPECT_THAT(refusal(input), HasSubstr("spread unevenly over the nodes (3 on this node)"));
}

TEST(ForeignWorldErrors, ANodeListThatIsNotTheJobs) {
  const Environment list{{"AZ_BATCH_HOST_LIST", "10.0.0.4,10.0.0.6"}};
  EXPECT_THAT(refusal(input_on("b", open_mpi_4(1, 2, 0, 1) + list)),
              HasSubstr("AZ_BATCH_HOST_LIST names 10.0.0.4, 10.0.0.6, and none of them is this "
                        "machine (rank 1)"));
  const Environment slurm{{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "a,b"}};
  EXPECT_THAT(refusal(input_on("b", open_mpi_4(0, 2, 0, 1) + slurm)),
              HasSubstr("which does not match SLURM_JOB_NODELIST (a, b)"));
}

TEST(ForeignWorldErrors, AListThatOnlyTheFirstNodeCanRead) {
  const Environment pbs{{"PBS_JOBID", "1"}, {"PBS_NODEFILE", "/aux/1"}};
  EXPECT_THAT(refusal(input_on("b", open_mpi_4(1, 2, 0, 1) + pbs)),
              HasSubstr("--master-addr \"$(head -n 1 $PBS_NODEFILE)\""));
}

TEST(ForeignWorldErrors, StepsOfSlurmThatContradictThemselves) {
  const auto with = [](const Environment& more) {
    return input_on("node01", srun_3_and_1(1) + more);
  };
  EXPECT_THAT(refusal(with({{"SLURM_STEP_TASKS_PER_NODE", "3,2"}})),
              HasSubstr("adds up to 5 tasks, but SLURM_STEP_NUM_TASKS is 4"));
  EXPECT_THAT(refusal(with({{"SLURM_STEP_TASKS_PER_NODE", "4"}})),
              HasSubstr("SLURM_STEP_NODELIST names 2 nodes"));
  EXPECT_THAT(refusal(with({{"SLURM_STEP_TASKS_PER_NODE", "3,1("}})), HasSubstr("2(x3),1"));
  EXPECT_THAT(refusal(with({{"SLURM_NODEID", "2"}})), HasSubstr("has 2 nodes"));
  EXPECT_THAT(refusal(with({{"SLURM_NODEID", "1"}})), HasSubstr("node02 has 1 task ("));
  EXPECT_THAT(refusal(with({{"SLURMD_NODENAME", "node09"}})),
              HasSubstr("node 0 of SLURM_STEP_NODELIST is node01"));
  EXPECT_THAT(refusal(with({{"SLURM_PROCID", "4"}})), HasSubstr("SLURM_STEP_NUM_TASKS is 4"));
  EXPECT_THAT(refusal(input_on("node02", srun_3_and_1(3) + Environment{{"SLURM_PROCID", "0"}})),
              HasSubstr("rank 0 is on node02"));
}

TEST(ForeignWorldErrors, ScriptsAndManyProcessesOfPbs) {
  const Environment pbs{{"PBS_JOBID", "1"}, {"PBS_NODEFILE", "/aux/1"}, {"PBS_NODENUM", "0"}};
  const std::map<std::string, std::string> two{{"/aux/1", "a\na\nb\n"}};
  EXPECT_THAT(refusal(input_on("a", pbs + Environment{{"PBS_TASKNUM", "1"}}, two)),
              HasSubstr("the script of a PBS job"));
  EXPECT_THAT(refusal(input_on("a", pbs + Environment{{"PBS_TASKNUM", "2"}}, two)),
              HasSubstr("not which of the node's processes"));
  EXPECT_THAT(refusal(input_on("c", pbs + Environment{{"PBS_VNODENUM", "2"}}, two)),
              HasSubstr("line 3 of PBS_NODEFILE is b, but this machine is c"));
}

TEST(ForeignWorldErrors, PodsThatAreNotCounted) {
  WorldInput input = input_on("train-4", {{"JOB_COMPLETION_INDEX", "4"}});
  EXPECT_THAT(refusal(input), HasSubstr("dlaunch exec -n N"));
  input.processes = 4;
  EXPECT_THAT(refusal(input), HasSubstr("JOB_COMPLETION_INDEX is 4, but -n says 4"));
  input.processes = 8;
  EXPECT_THAT(refusal(input), HasSubstr("--master-addr"));
}

TEST(ForeignWorldErrors, AnOptionThatContradictsTheLauncher) {
  WorldInput input = input_on("vm", hydra(1, 2, 1, 2));
  input.processes = 3;
  EXPECT_THAT(refusal(input, exit_code::kUsage), HasSubstr("started 2 ranks"));
}

}  // namespace
}  // namespace dlaunch::launchers
