#include "plan/exec_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/launchers/environments.h"

namespace dlaunch::launchers {
namespace {

using namespace test;
using testing::HasSubstr;

ExecInput input_of(const Result<World>& world, Environment env,
                   Framework framework = Framework::pytorch) {
  EXPECT_TRUE(world) << shown(world);
  ExecInput input;
  input.framework = framework;
  if (world) input.world = *world;
  input.environment = std::move(env);
  for (int i = 0; i < 12; ++i) input.facts.cores.push_back({0, {i}, false});
  return input;
}

/// MPI programs meet through their launcher, so the host of rank 0 need not be known.
WorldInput input_for_mpi(const std::string& hostname, Environment env) {
  WorldInput input = input_on(hostname, std::move(env));
  input.needs_master = false;
  return input;
}

ExecInput srun_input(std::uint32_t rank, Framework framework = Framework::pytorch,
                     const Environment& more = {}) {
  const Environment env = srun_3_and_1(rank) + more;
  return input_of(foreign_world(input_on("x", env)), env, framework);
}

Environment environment_of(const ExecInput& input) {
  const auto plan = exec_plan(input);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? rank_environment(*plan, input.world.rank, input.environment) : Environment();
}

// docs/reference/variables.md: the pytorch profile, on the second node of a world of 3 + 1.
TEST(ExecPlan, SetsWhatRunSets) {
  ExecInput input = srun_input(3);
  input.master_port = 29500;
  const Environment env = environment_of(input);
  const Environment expected{{"RANK", "3"},
                             {"LOCAL_RANK", "0"},
                             {"WORLD_SIZE", "4"},
                             {"LOCAL_WORLD_SIZE", "1"},
                             {"NODE_RANK", "1"},
                             {"GROUP_RANK", "1"},
                             {"GROUP_WORLD_SIZE", "2"},
                             {"ROLE_NAME", "default"},
                             {"ROLE_RANK", "3"},
                             {"ROLE_WORLD_SIZE", "4"},
                             {"LOCAL_SIZE", "1"},
                             {"CROSS_RANK", "1"},
                             {"CROSS_SIZE", "2"},
                             {"MASTER_ADDR", "node01"},
                             {"MASTER_PORT", "29500"},
                             {"TORCHELASTIC_RUN_ID", "slurm-77.0"},
                             {"TORCHELASTIC_RESTART_COUNT", "0"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "False"},
                             {"OMP_NUM_THREADS", "12"},
                             {"DLAUNCH_RANK", "3"}};
  for (const auto& [name, value] : expected) EXPECT_EQ(find_variable(env, name), value) << name;
  // They would have no reader.
  EXPECT_FALSE(find_variable(env, "TORCHELASTIC_ERROR_FILE"));
}

TEST(ExecPlan, RanksOfOneJobAgree) {
  const Environment first = environment_of(srun_input(0));
  const Environment last = environment_of(srun_input(3));
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "TORCHELASTIC_RUN_ID"})
    EXPECT_EQ(find_variable(first, name), find_variable(last, name)) << name;
  EXPECT_NE(find_variable(first, "RANK"), find_variable(last, "RANK"));
}

TEST(ExecPlan, ARequeuedJobMeetsAtAnotherPort) {
  const Environment again =
      environment_of(srun_input(0, Framework::pytorch, Environment{{"SLURM_RESTART_COUNT", "1"}}));
  EXPECT_EQ(find_variable(again, "TORCHELASTIC_RESTART_COUNT"), "1");
  EXPECT_NE(find_variable(again, "MASTER_PORT"),
            find_variable(environment_of(srun_input(0)), "MASTER_PORT"));
}

TEST(ExecPlan, TheOuterIdentityIsRemovedAndTheRestStays) {
  const Environment env = environment_of(
      srun_input(1, Framework::pytorch,
                 Environment{{"HOME", "/home/eve"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}));
  for (const char* name : {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "PMI_RANK"})
    EXPECT_FALSE(find_variable(env, name)) << name;
  EXPECT_EQ(find_variable(env, "SLURM_JOB_ID"), "77");
  EXPECT_EQ(find_variable(env, "HOME"), "/home/eve");
}

TEST(ExecPlan, ThreadsAreSharedUnlessTheCoresAreOwn) {
  ExecInput input = srun_input(0);
  EXPECT_EQ(find_variable(environment_of(input), "OMP_NUM_THREADS"), "4");  // 12 cores / 3
  input.cores_are_own = true;
  EXPECT_EQ(find_variable(environment_of(input), "OMP_NUM_THREADS"), "12");
  input.world.threads = 5;
  EXPECT_EQ(find_variable(environment_of(input), "OMP_NUM_THREADS"), "5");
  input.environment["OMP_NUM_THREADS"] = "2";
  EXPECT_EQ(find_variable(environment_of(input), "OMP_NUM_THREADS"), "2");
}

TEST(ExecPlan, TensorflowKnowsEveryTask) {
  ExecInput input = srun_input(3, Framework::tensorflow);
  input.master_port = 20000;
  const Environment env = environment_of(input);
  EXPECT_EQ(
      find_variable(env, "TF_CONFIG"),
      R"({"cluster":{"worker":["node01:20001","node01:20002","node01:20003","node02:20001"]},)"
      R"("environment":"cloud","task":{"index":3,"type":"worker"}})");
  EXPECT_FALSE(find_variable(env, "RANK"));
}

TEST(ExecPlan, TensorflowIsRefusedWhereTasksCannotBeFound) {
  const Environment env = open_mpi_4(3, 4, 1, 2);
  WorldInput world = input_on("b", env);
  world.master_address = "a";
  const auto plan = exec_plan(input_of(foreign_world(world), env, Framework::tensorflow));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().exit_code, exit_code::kPreflight);
  EXPECT_THAT(plan.error().message, HasSubstr("does not name all hosts"));
}

TEST(ExecPlan, GcpCountsMachines) {
  ExecInput input = srun_input(3, Framework::gcp);
  const Environment env = environment_of(input);
  EXPECT_EQ(find_variable(env, "RANK"), "3");
  EXPECT_EQ(find_variable(env, "WORLD_SIZE"), "4");
  EXPECT_THAT(*find_variable(env, "CLUSTER_SPEC"), HasSubstr(R"("index":2,"type":"worker")"));
}

TEST(ExecPlan, LargeWorldsAreNotWorkedOutForOthers) {
  const Environment env = open_mpi_4(8191, 8192, 7, 8);
  WorldInput world = input_on("b", env);
  world.master_address = "a";
  const ExecInput input = input_of(foreign_world(world), env);
  const auto plan = exec_plan(input);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->ranks.front().variables.empty());
  EXPECT_FALSE(plan->ranks.back().variables.empty());
  EXPECT_EQ(find_variable(environment_of(input), "NODE_RANK"), "1023");
}

// The launcher remains the starter of the MPI library: the variables that it reads are kept.
TEST(ExecPlan, MpiKeepsWhatTheLibraryReads) {
  Environment env = open_mpi_4(3, 4, 1, 2) +
                    Environment{{"PMIX_RANK", "3"}, {"OMPI_UNIVERSE_SIZE", "16"}, {"RANK", "9"}};
  const ExecInput input = input_of(foreign_world(input_for_mpi("b", env)), env, Framework::mpi);
  env = environment_of(input);
  for (const auto& [name, value] :
       Environment{{"OMPI_COMM_WORLD_RANK", "3"}, {"PMIX_RANK", "3"}, {"OMPI_UNIVERSE_SIZE", "16"}})
    EXPECT_EQ(find_variable(env, name), value) << name;
  // With this variable Open MPI 4 would use another way to its server; others belong to torch, or
  // would guess about other nodes.
  for (const char* name :
       {"JSM_JSRUN_PORT", "RANK", "MASTER_ADDR", "OMPI_MCA_pml", "AZ_BATCH_MASTER_NODE",
        "AZ_BATCH_HOST_LIST", "AZ_BATCHAI_MPI_MASTER_NODE"})
    EXPECT_FALSE(find_variable(env, name)) << name;
}

TEST(ExecPlan, HydrasDescriptorStaysAndTheGuidesNamesAreThere) {
  const Environment found = hydra(1, 2, 1, 2) + Environment{{"JSM_JSRUN_PORT", "0"}};
  const ExecInput input =
      input_of(foreign_world(input_for_mpi("b", found)), found, Framework::horovod);
  const Environment env = environment_of(input);
  for (const auto& [name, value] : Environment{{"PMI_FD", "8"},
                                               {"PMI_RANK", "1"},
                                               {"JSM_JSRUN_PORT", "0"},  // the launcher's own
                                               {"OMPI_COMM_WORLD_RANK", "1"},
                                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                               {"AZ_BATCHAI_MPI_MASTER_NODE", "127.0.0.1"},
                                               {"HOROVOD_CONTROLLER", "mpi"}})
    EXPECT_EQ(find_variable(env, name), value) << name;
}

TEST(ExecPlan, MpiHasTorchsVariablesWhereTheyAreWanted) {
  const Environment found = open_mpi_4(3, 4, 1, 2);
  WorldInput world = input_on("b", found);
  EXPECT_FALSE(foreign_world(world));  // where rank 0 is must be known then
  world.master_address = "a";
  ExecInput input = input_of(foreign_world(world), found, Framework::mpi);
  input.torch_variables = true;
  const Environment env = environment_of(input);
  for (const auto& [name, value] : Environment{{"RANK", "3"},
                                               {"LOCAL_RANK", "1"},
                                               {"WORLD_SIZE", "4"},
                                               {"MASTER_ADDR", "a"},
                                               {"AZ_BATCHAI_MPI_MASTER_NODE", "a"},
                                               {"OMPI_COMM_WORLD_RANK", "3"}})
    EXPECT_EQ(find_variable(env, name), value) << name;
}

TEST(ExecPlan, ATaskOfSrunKeepsPmiUnderMpi) {
  const ExecInput input =
      srun_input(1, Framework::mpi, Environment{{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}});
  const Environment env = environment_of(input);
  for (const char* name : {"SLURM_PROCID", "SLURM_STEP_ID", "PMI_RANK", "PMI_SIZE"})
    EXPECT_TRUE(find_variable(env, name)) << name;
}

}  // namespace
}  // namespace dlaunch::launchers
