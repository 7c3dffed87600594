#include "launch/session/inspect_message.h"

#include <gmock/gmock.h>

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

PlanContext context_of_a_shell() {
  PlanContext context;
  context.current_folder = "/home/eve/project";
  context.launcher_env = {{"LD_LIBRARY_PATH", "/opt/mpi/lib"},
                          {"NCCL_DEBUG", "INFO"},
                          {"HOME", "/home/eve"},
                          {"TOKEN", "secret"}};
  return context;
}

JobSpec job_with_variables() {
  JobSpec spec;
  spec.env = {{"NCCL_IB_HCA", "mlx5_0"}};
  spec.env_pass = {"NCCL_DEBUG"};
  spec.env_secret = {"TOKEN"};
  return spec;
}

TEST(InspectMessage, HasTheEnvironmentOfRanksThatMeasureButNoSecrets) {
  const auto question = inspect_message(job_with_variables(), context_of_a_shell(), {}, false);
  EXPECT_EQ(question.carried, (Environment{{"LD_LIBRARY_PATH", "/opt/mpi/lib"}}));
  EXPECT_EQ(question.env, (Environment{{"NCCL_DEBUG", "INFO"}, {"NCCL_IB_HCA", "mlx5_0"}}));
}

TEST(InspectMessage, OnThisMachineTheAgentHasOurEnvironmentAlready) {
  const auto question = inspect_message(job_with_variables(), context_of_a_shell(), {}, true);
  EXPECT_THAT(question.carried, IsEmpty());
  EXPECT_EQ(question.env.size(), 2U);
}

TEST(InspectMessage, SendsNoEnvironmentWhereNobodyLooksForLibraries) {
  InspectionScope wanted;
  wanted.collectives = false;
  const auto question = inspect_message(job_with_variables(), context_of_a_shell(), wanted, false);
  EXPECT_FALSE(question.collectives);
  EXPECT_THAT(question.carried, IsEmpty());
  EXPECT_THAT(question.env, IsEmpty());
}

TEST(InspectMessage, AsksForTheRoomThatTheJobNeeds) {
  JobSpec spec;
  spec.workdir = "../data";
  InspectionScope wanted;
  wanted.gpus = false;
  auto question = inspect_message(spec, context_of_a_shell(), wanted, false);
  EXPECT_THAT(question.folders, ElementsAre("/tmp"));
  EXPECT_FALSE(question.gpus);
  wanted.workdir = true;
  question = inspect_message(spec, context_of_a_shell(), wanted, false);
  EXPECT_THAT(question.folders, ElementsAre("/tmp", "/home/eve/data"));
  EXPECT_THAT(question.code, ElementsAre("/home/eve/data"));
  PlanContext active = context_of_a_shell();
  active.launcher_env["VIRTUAL_ENV"] = "/home/eve/venv";
  spec.sync.is_on = true;  // what is copied lies on a local disk
  question = inspect_message(spec, active, wanted, false);
  EXPECT_THAT(question.code, ElementsAre("/home/eve/venv/lib"));
}

TEST(InspectMessage, NamesTheProgramsWhoseEnvironmentIsRead) {
  JobSpec spec;
  spec.workdir = "../data";
  spec.command.argv = {"/nfs/venv/bin/python", "train.py"};
  spec.roles.resize(3);
  spec.roles[0].command =
      Command{true, "exec .venv/bin/python ps.py && /nfs/venv/bin/python x.py", {}};
  spec.roles[1].command = Command{false, "", {"python3", "of/the/path.py"}};
  InspectionScope wanted;
  EXPECT_THAT(inspect_message(spec, context_of_a_shell(), wanted, false).programs, IsEmpty());
  wanted.workdir = true;
  EXPECT_THAT(inspect_message(spec, context_of_a_shell(), wanted, false).programs,
              ElementsAre("/nfs/venv/bin/python", "/home/eve/data/.venv/bin/python"));
}

TEST(InspectMessage, NamesProgramsAfterAWrapperAndInSetup) {
  JobSpec spec;
  spec.command.argv = {"numactl", "-N0", "/nfs/a/bin/python3.11", "/some/other/file"};
  spec.roles.resize(1);
  spec.roles[0].command = Command{true, "~/venvs/b/bin/python train.py", {}};
  spec.setup = "module load cuda\n. /nfs/c/bin/activate\n~/d/bin/tool --make";
  InspectionScope wanted;
  wanted.workdir = true;
  EXPECT_THAT(inspect_message(spec, context_of_a_shell(), wanted, false).programs,
              ElementsAre("/nfs/a/bin/python3.11", "/home/eve/venvs/b/bin/python",
                          "/nfs/c/bin/activate", "/home/eve/d/bin/tool"));
}

}  // namespace
}  // namespace dlaunch
