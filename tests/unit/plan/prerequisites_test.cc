#include "plan/prerequisites.h"

#include <gtest/gtest.h>

#include "fake_cluster.h"
#include "plan/inherited_env.h"

namespace dlaunch::test {
namespace {

using Program = Prerequisites::Program;

Prerequisites needed(const JobSpec& spec) {
  const auto plan = make_plan(spec, fake_cluster({{}}), fake_context());
  return plan ? prerequisites_of(spec, *plan, NodeRank(0)) : Prerequisites{};
}

JobSpec shell_job(std::string line, std::string setup = "", Shell shell = Shell::sh) {
  JobSpec spec = list_job({});
  spec.command.is_shell = true;
  spec.command.line = std::move(line);
  spec.setup = std::move(setup);
  spec.shell = shell;
  return spec;
}

Prerequisites::Python script(std::string program, std::string file,
                             std::vector<std::string> options = {}) {
  return {std::move(program), std::nullopt, {std::move(options), std::move(file), ""}, {}};
}

TEST(Prerequisites, OfAList) {
  EXPECT_EQ(
      needed(list_job({"python", "-u", "train.py", "x.py"})),
      (Prerequisites{{{"python", std::nullopt}}, {}, {script("python", "train.py", {"-u"})}}));
  EXPECT_EQ(needed(list_job({"./run"})), (Prerequisites{{{"./run", std::nullopt}}, {}}));
}

TEST(Prerequisites, PathOfTheJobIsTheOneToSearch) {
  JobSpec spec = list_job({"train"});
  spec.env["PATH"] = "/opt/bin";
  EXPECT_EQ(needed(spec), (Prerequisites{{{"train", "/opt/bin"}}, {}}));
}

TEST(Prerequisites, OfAShellCommand) {
  EXPECT_EQ(
      needed(shell_job("python3 train.py --lr $LR")),
      (Prerequisites{
          {{"sh", std::nullopt}, {"python3", std::nullopt}}, {}, {script("python3", "train.py")}}));
  EXPECT_EQ(needed(shell_job("bash -e job/run.sh 4")),
            (Prerequisites{{{"sh", std::nullopt}, {"bash", std::nullopt}}, {"job/run.sh"}}));
  // bash may import functions (BASH_FUNC_*), so only paths are certain.
  EXPECT_EQ(needed(shell_job("train x", "", Shell::bash)),
            (Prerequisites{{{"bash", std::nullopt}}, {}}));
  EXPECT_EQ(needed(shell_job("bin/train x", "", Shell::bash)),
            (Prerequisites{{{"bash", std::nullopt}, {"bin/train", std::nullopt}}, {}}));
  // Anything but a simple command may do anything.
  for (const char* line :
       {"cd sub && python train.py", "test -f x || make x", "for i in 1; do a; done",
        "X=1 python train.py", "\"$PYTHON\" train.py", "$(which python) a.py"})
    EXPECT_EQ(needed(shell_job(line)), (Prerequisites{{{"sh", std::nullopt}}, {}})) << line;
}

TEST(Prerequisites, SetupMayChangeEverythingButWhatItSources) {
  JobSpec spec = list_job({"python", "train.py"});
  spec.setup = "source venv/bin/activate";
  EXPECT_EQ(needed(spec), (Prerequisites{{{"sh", std::nullopt}}, {"venv/bin/activate"}}));
  EXPECT_EQ(needed(shell_job("python train.py", ". ./env.sh")),
            (Prerequisites{{{"sh", std::nullopt}}, {"./env.sh"}}));
}

TEST(Prerequisites, WhatSetupPlainlySources) {
  using Files = std::vector<std::string>;
  const std::vector<std::pair<const char*, Files>> cases = {
      {"source venv/bin/activate", {"venv/bin/activate"}},
      {"# my environment\nexport A=\"$HOME/x\"\nmodule load cuda/12\n. /etc/profile.d/x.sh",
       {"/etc/profile.d/x.sh"}},
      {"source a/b; source c/d", {"a/b", "c/d"}},
      {"source a/b\nsource a/b", {"a/b"}},
      {"source activate", {}},              // looked for in PATH
      {"source $VENV/bin/activate", {}},    // only the shell knows
      {"source \"my venv/activate\"", {}},  // quoted
      {"source a/b || true", {}},           // may be missing
      {"[ -d venv ] || python -m venv venv\nsource venv/bin/activate", {}},
      {"cd sub\nsource venv/bin/activate", {}},
      {"export X=$(make-venv); source venv/bin/activate", {}},
      {"if true; then source a/b; fi", {}},
      {"source a/b arg", {}},  // no plain case
      {"", {}},
  };
  for (const auto& [setup, files] : cases) EXPECT_EQ(plainly_sourced(setup), files) << setup;
}

TEST(Prerequisites, OfEachRole) {
  JobSpec spec = list_job({"python3", "worker.py"});
  spec.framework = Framework::tensorflow;
  spec.env["PYTHONPATH"] = "src";
  RoleSpec chief;
  chief.name = "chief";
  chief.count = 1;
  chief.command = Command{false, "", {"python3", "-m", "trainer.task"}};
  RoleSpec worker;
  worker.name = "worker";
  worker.count = 3;
  spec.roles = {chief, worker};
  const Prerequisites found = needed(spec);
  ASSERT_EQ(found.pythons.size(), 2U);
  EXPECT_EQ(found.pythons[0].command, (PythonCommand{{}, "", "trainer.task"}));
  EXPECT_EQ(found.pythons[1].command, (PythonCommand{{}, "worker.py", ""}));
  EXPECT_EQ(found.pythons[1].env.at("PYTHONPATH"), "src");
  EXPECT_FALSE(found.pythons[1].env.contains("TF_CONFIG"));
}

TEST(Carried, WhatOtherNodesAreOffered) {
  Environment env{{"PATH", "/bin"},
                  {"LD_LIBRARY_PATH", ""},
                  {"CONDA_EXE", "/c/conda"},
                  {"HOME", "/home/me"},
                  {"VIRTUAL_ENV_PROMPT", "x"}};
  EXPECT_EQ(carried_variables(env), (Environment{{"PATH", "/bin"}}));
  env["CONDA_PREFIX"] = "/c";
  env["VIRTUAL_ENV"] = "/v";
  EXPECT_EQ(carried_variables(env), (Environment{{"PATH", "/bin"},
                                                 {"CONDA_EXE", "/c/conda"},
                                                 {"CONDA_PREFIX", "/c"},
                                                 {"VIRTUAL_ENV", "/v"},
                                                 {"VIRTUAL_ENV_PROMPT", "x"}}));
}

TEST(Carried, OnlyToOtherNodes) {
  PlanContext context = fake_context();
  context.launcher_env = {{"PATH", "/opt/bin"}};
  Cluster cluster = fake_cluster({{}, {}});
  cluster.nodes[1].facts.output_folder = "/var/tmp/dlaunch-7/run-1";
  JobSpec spec = list_job();
  spec.processes_per_node = {ProcessesPerNode::Kind::count, 1};
  const auto plan = make_plan(spec, cluster, context);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->carried, context.launcher_env);
  EXPECT_TRUE(carried_to(*plan, NodeRank(0)).empty());
  ASSERT_EQ(carried_to(*plan, NodeRank(1)).size(), 1U);
  // Ranks that cannot reach the launcher's run folder get no path in it.
  EXPECT_EQ(environment_of(*plan, 0).at("TORCHELASTIC_ERROR_FILE"),
            context.run_folder + "/attempt-0/rank-0.error.json");
  EXPECT_EQ(environment_of(*plan, 1).at("TORCHELASTIC_ERROR_FILE"),
            "/var/tmp/dlaunch-7/run-1/attempt-0/rank-1.error.json");
  const auto alone = make_plan(spec, fake_cluster({{}}), context);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->carried, Environment{});
}

}  // namespace
}  // namespace dlaunch::test
