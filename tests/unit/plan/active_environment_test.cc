#include "plan/active_environment.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "fake_cluster.h"

namespace dlaunch::test {
namespace {

using Words = std::vector<std::string>;

/// A launcher with a virtual environment on top of a conda environment, and a second node.
class ActiveEnvironmentTest : public testing::Test {
 protected:
  ActiveEnvironmentTest() {
    context_.launcher_env = {{"PATH", "/job/.venv/bin:/conda/bin:/usr/bin"},
                             {"VIRTUAL_ENV", "/job/.venv"},
                             {"CONDA_PREFIX", "/conda/"}};
    files_.is_folder = [](const std::string& path) { return path != "/gone"; };
    files_.find_program = [this](const std::string& name, const std::string& search_path) {
      if (name.starts_with('/')) return programs_.contains(name) ? name : std::string();
      for (std::size_t at = 0; at <= search_path.size();) {
        const std::size_t end = std::min(search_path.find(':', at), search_path.size());
        const std::string path = search_path.substr(at, end - at) + '/' + name;
        if (programs_.contains(path)) return path;
        at = end + 1;
      }
      return std::string();
    };
    files_.read_file = [this](const std::string& path) -> std::optional<std::string> {
      const auto found = texts_.find(path);
      return found == texts_.end() ? std::nullopt : std::optional(found->second);
    };
  }

  /// "virtual environment python3 /job/.venv/bin/python3"
  Words uses(const JobSpec& job) {
    JobSpec spec = job;
    spec.processes_per_node = {ProcessesPerNode::Kind::count, 1};
    const auto plan = make_plan(spec, fake_cluster({{}, {}}), context_);
    EXPECT_TRUE(plan);
    Words found;
    const auto active = active_environments(*plan, files_);
    for (const EnvironmentUse& use : environment_uses(spec, *plan, NodeRank(1), active, files_))
      found.push_back(use.environment.kind + ' ' + use.program + ' ' + use.path);
    return found;
  }
  Words of_list(Words argv) { return uses(list_job(std::move(argv))); }
  Words of_line(std::string line, std::string setup = "") {
    JobSpec spec = list_job({});
    spec.command = {true, std::move(line), {}};
    spec.setup = std::move(setup);
    return uses(spec);
  }

  const Words venv_{"virtual environment python3 /job/.venv/bin/python3"};
  const Words none_;
  std::set<std::string> programs_{"/job/.venv/bin/python3", "/job/.venv/bin/torchrun",
                                  "/conda/bin/python3",     "/conda/bin/julia",
                                  "/usr/bin/python3",       "/usr/bin/numactl"};
  std::map<std::string, std::string> texts_;
  LauncherFiles files_;
  PlanContext context_ = fake_context();
};

TEST_F(ActiveEnvironmentTest, TheProgramAndEachPythonOfAList) {
  EXPECT_EQ(of_list({"python3", "train.py"}), venv_);
  EXPECT_EQ(of_list({"torchrun", "train.py"}),
            Words{"virtual environment torchrun /job/.venv/bin/torchrun"});
  EXPECT_EQ(of_list({"numactl", "-N0", "python3", "train.py"}), venv_);
  EXPECT_EQ(of_list({"julia", "x.jl"}), Words{"conda environment julia /conda/bin/julia"});
  EXPECT_EQ(of_list({"hostname", "torchrun"}), none_);
  EXPECT_EQ(of_list({"/usr/bin/python3", "train.py"}), none_);
  EXPECT_EQ(of_list({"/job/.venv/bin/python3", "train.py"}),
            Words{"virtual environment /job/.venv/bin/python3 /job/.venv/bin/python3"});
}

TEST_F(ActiveEnvironmentTest, TheCommandsOfAShellLine) {
  EXPECT_EQ(of_line("cd sub && X=1 exec python3 train.py | tee log"), venv_);
  EXPECT_EQ(of_line("sh -c 'python3 train.py'"), venv_);
  EXPECT_EQ(of_line("echo torchrun; nvidia-smi"), none_);
  EXPECT_EQ(of_line("test $# = 0 && python3 train.py  # not torchrun"), venv_);
  EXPECT_EQ(of_line("make train", "export A=$(python3 -c 1)"), venv_);
}

TEST_F(ActiveEnvironmentTest, WhatChoosesItsEnvironmentItself) {
  for (const char* line : {"uv run python3 train.py", "conda run -n x python3 a.py",
                           "source /shared/venv/bin/activate && python3 a.py",
                           "module load python; python3 a.py", "PATH=/opt/bin:$PATH python3 a.py"})
    EXPECT_EQ(of_line(line), none_) << line;
  EXPECT_EQ(of_line("python3 a.py", ". /shared/venv/bin/activate"), none_);
  EXPECT_EQ(of_line("python3 a.py", "export PATH=/opt/bin:$PATH"), none_);
  EXPECT_EQ(of_line("python3 a.py", "ulimit -c 0"), venv_);
  JobSpec spec = list_job({"python3", "a.py"});
  spec.env["PATH"] = "/usr/bin";
  EXPECT_EQ(uses(spec), none_);
}

TEST_F(ActiveEnvironmentTest, TheCommandsOfAShellScript) {
  texts_["run.sh"] = "#!/bin/bash\n# python3 is not called yet\nexport A=1\npython3 train.py\n";
  EXPECT_EQ(of_list({"bash", "run.sh"}), venv_);
  texts_["./run.sh"] = texts_["run.sh"];
  EXPECT_EQ(of_list({"./run.sh"}), venv_);
  texts_["run.sh"] = "#!/bin/bash\n# python3 train.py\n./app\n";
  EXPECT_EQ(of_list({"bash", "run.sh"}), none_);
  texts_["run.sh"] = "source venv/bin/activate\npython3 train.py\n";
  EXPECT_EQ(of_list({"bash", "run.sh"}), none_);
  texts_["./run.sh"] = std::string(
      "\x7f"
      "ELF\0 python3",
      14);
  EXPECT_EQ(of_list({"./run.sh"}), none_);
}

TEST_F(ActiveEnvironmentTest, WhatUvHasMade) {
  const auto active = [&] {
    const auto plan = make_plan(list_job({"x"}), fake_cluster({{}, {}}), context_);
    return plan ? active_environments(*plan, files_).at(0) : ActiveEnvironment{};
  };
  const std::string kind = "virtual environment";
  EXPECT_EQ(active(), (ActiveEnvironment{kind, "/job/.venv", false, ""}));
  texts_["/job/.venv/pyvenv.cfg"] = "home = /usr/bin\nuv = 0.9.5\n";
  EXPECT_EQ(active(), (ActiveEnvironment{kind, "/job/.venv", true, ""}));
  texts_["/job/pyproject.toml"] = "[project]\n";
  EXPECT_EQ(active(), (ActiveEnvironment{kind, "/job/.venv", true, "/job"}));
}

TEST_F(ActiveEnvironmentTest, OnlyOneThatIsThereAndInPathIsActive) {
  context_.launcher_env["VIRTUAL_ENV"] = "/gone";
  EXPECT_EQ(of_list({"python3"}), none_);
  context_.launcher_env["VIRTUAL_ENV"] = "/other";
  EXPECT_EQ(of_list({"python3"}), none_);
}

}  // namespace
}  // namespace dlaunch::test
