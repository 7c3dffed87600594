#include "node/ranks/prerequisite_check.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "node/ranks/python_installation.h"
#include "os/clock.h"

namespace dlaunch {
namespace {

using Step = StartFailure::Step;

class PrerequisiteCheck : public testing::Test {
 protected:
  PrerequisiteCheck() { EXPECT_NE(::mkdtemp(folder_), nullptr); }
  ~PrerequisiteCheck() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, bool executable = false) {
    const std::string path = std::string(folder_) + '/' + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "#!/bin/sh\n";
    if (executable) std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  wire::CheckPrerequisites wanted() const {
    wire::CheckPrerequisites question;
    question.workdir = folder_;
    return question;
  }
  std::vector<StartFailure> missing(const wire::CheckPrerequisites& question) const {
    return check_prerequisites(question, {{"PATH", std::string(folder_) + "/own"}}).answer.missing;
  }
  PrerequisiteReport look(std::vector<wire::CheckPrerequisites::Lookup> lookups) const {
    wire::CheckPrerequisites question = wanted();
    question.lookups = std::move(lookups);
    return check_prerequisites(question, {{"PATH", std::string(folder_) + "/own:/usr/bin:/bin"}});
  }
  static wire::CheckPrerequisites::Lookup python(std::string script, std::string module = "") {
    return {"python3", {}, "", {{}, std::move(script), std::move(module)}, {}};
  }
  std::string make_venv(const std::string& name) const {
    const std::string path = std::string(folder_) + '/' + name;
    EXPECT_EQ(std::system(("/usr/bin/python3 -m venv --without-pip " + path).c_str()), 0);
    return path;
  }

  char folder_[32] = "/tmp/needs-check-XXXXXX";
};

TEST_F(PrerequisiteCheck, AllIsThere) {
  file("own/train", true);
  file("carried/tool", true);
  file("script", true);
  file("train.py");
  wire::CheckPrerequisites question = wanted();
  question.carried = {{"PATH", std::string(folder_) + "/carried"}};
  question.programs = {
      {"train", {}}, {"tool", {}}, {"./script", {}}, {"/bin/sh", {}}, {"sh", "/bin"}};
  question.files = {"train.py", std::string(folder_) + "/train.py"};
  EXPECT_EQ(missing(question), std::vector<StartFailure>{});
}

TEST_F(PrerequisiteCheck, EverythingThatIsMissingIsToldAtOnce) {
  const std::string plain = file("own/plain");
  const std::string own = std::string(folder_) + "/own";
  wire::CheckPrerequisites question = wanted();
  question.programs = {
      {"pythonx", {}}, {"plain", {}}, {"./gone", {}}, {"./own", {}}, {"sh", "/none"}};
  question.files = {"venv/bin/activate", "own"};
  const std::string folder = folder_;
  EXPECT_EQ(missing(question),
            (std::vector<StartFailure>{{Step::execute, ENOENT, "pythonx", own},
                                       {Step::execute, EACCES, plain, own},
                                       {Step::execute, ENOENT, "./gone", ""},
                                       {Step::execute, EISDIR, "./own", ""},
                                       {Step::execute, ENOENT, "sh", "/none"},
                                       {Step::file, ENOENT, folder + "/venv/bin/activate", ""},
                                       {Step::file, EISDIR, folder + "/own", ""}}));
}

TEST_F(PrerequisiteCheck, AScriptThatIsNotThereWithTheNearestName) {
  file("train.py");
  file("src/train.py");
  file("package/__main__.py");
  const std::string folder = folder_;
  EXPECT_EQ(look({python("trian.py"), python("scr/train.py"), python("train.py"), python("package"),
                  python("src"), python("other.py")})
                .answer.missing,
            (std::vector<StartFailure>{
                {Step::file, ENOENT, folder + "/trian.py", "", "", "train.py"},
                {Step::file, ENOENT, folder + "/scr/train.py", "", "", "src/train.py"},
                {Step::file, ENOENT, folder + "/src/__main__.py", ""},
                {Step::file, ENOENT, folder + "/other.py", ""}}));
}

TEST_F(PrerequisiteCheck, AWrapperMayRunTheScriptSomewhereElse) {
  const std::string wrapper = file("own/python3", true);
  EXPECT_EQ(look({python("gone.py")}).answer.missing, std::vector<StartFailure>{});
  EXPECT_EQ(look({python("", "gone")}).unseen.size(), 0U);
  std::filesystem::create_directories(std::string(folder_) + "/shims");
  std::filesystem::rename(wrapper, std::string(folder_) + "/shims/python3");
  auto shim = python("gone.py");
  shim.search_path = std::string(folder_) + "/shims";
  EXPECT_EQ(look({shim}).answer.missing.size(), 1U);
}

TEST_F(PrerequisiteCheck, WhatBashFindsInPathIsThere) {
  file("own/run.sh");
  wire::CheckPrerequisites question = wanted();
  question.files = {"run.sh", "./run.sh"};
  EXPECT_EQ(missing(question).size(), 1U);
}

TEST_F(PrerequisiteCheck, AnotherPythonIsNamed) {
  file("own/python3", true);
  wire::CheckPrerequisites question = wanted();
  question.programs = {{"python", {}}};
  EXPECT_EQ(missing(question),
            (std::vector<StartFailure>{
                {Step::execute, ENOENT, "python", std::string(folder_) + "/own", "", "python3"}}));
}

TEST_F(PrerequisiteCheck, WhereAProgramIsAndWhyTheExpectedOneIsNot) {
  const std::string folder = folder_;
  std::filesystem::create_directories(folder + "/venv/bin");
  std::filesystem::create_symlink("python", folder + "/venv/bin/python3");
  std::filesystem::create_symlink("/gone/python3.12", folder + "/venv/bin/python");
  const std::string expected = folder + "/venv/bin/python3";
  const std::string tool = file("own/tool", true);
  const auto found = look({{"python3", {}, expected, {}, {}},
                           {"tool", {}, folder + "/venv/bin/tool", {}, {}},
                           {"none", {}, folder + "/venv/bin/none", {}, {}}})
                         .answer.found;
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].path, "/usr/bin/python3");
  EXPECT_NE(found[0].version.find("3."), std::string::npos);
  EXPECT_EQ(found[0].broken, "it leads to /gone/python3.12: No such file or directory");
  EXPECT_EQ(found[1], (FoundProgram{tool, "", "", {}, {}}));
  EXPECT_EQ(found[2], FoundProgram{});
}

TEST_F(PrerequisiteCheck, ModulesThatCanBeSeenNeedNoPython) {
  const std::string venv = make_venv("venv");
  file("trainer/task.py");
  file("tool/__main__.py");
  auto lookup = python("", "trainer.task");
  lookup.search_path = venv + "/bin";
  auto tool = lookup;
  tool.python.module = "tool";
  auto standard = lookup;
  standard.python.module = "http.server";
  auto gone = lookup;
  gone.python.module = "trainer.tsk";
  const PrerequisiteReport found = look({lookup, tool, standard, gone});
  ASSERT_EQ(found.unseen.size(), 1U);
  EXPECT_EQ(found.unseen[0].command.module, "trainer.tsk");
  EXPECT_EQ(found.unseen[0].python, venv + "/bin/python3");
}

TEST_F(PrerequisiteCheck, TheFileOfAModuleIsNoModuleAndItsNameIsSuggested) {
  file("trainer/task.py");
  for (const char* name : {"trainer/task.py", "./trainer/task.py", "trainer/task"}) {
    EXPECT_FALSE(has_module(name, {folder_})) << name;
    EXPECT_EQ(near_module(name, {folder_}), "trainer.task") << name;
  }
  EXPECT_EQ(near_module("trainer.task.py", {folder_}), "trainer.task");
}

TEST_F(PrerequisiteCheck, APythonIsAskedForAModuleThatWasNotSeen) {
  file("trainer/task.py");
  file("dynamic/__init__.py");
  std::ofstream(std::string(folder_) + "/dynamic/__init__.py") << "import sys\nsys.modules[1]\n";
  std::ofstream(std::string(folder_) + "/plain.py") << "raise SystemExit('imported')\n";
  file("package/__init__.py");
  std::ofstream(std::string(folder_) + "/package/__init__.py") << "raise SystemExit('imported')\n";
  const std::vector<std::pair<std::string, std::string>> cases = {{"trainer.tsk", "trainer.tsk"},
                                                                  {"trianer.task", "trianer.task"},
                                                                  {"plain.py", "plain.py"},
                                                                  {"package", "package.__main__"},
                                                                  {"package.gone", "package.gone"},
                                                                  {"json.tool", ""},
                                                                  {"plain", ""},
                                                                  {"dynamic.gone", ""}};
  for (const auto& [module, missing] : cases) {
    const ModuleProbe question{"/usr/bin/python3", {{}, "", module}, folder_, {}};
    EXPECT_EQ(missing_module(question, std::chrono::seconds(20)), missing) << module;
  }
  EXPECT_EQ(missing_module({"/bin/false", {{}, "", "gone"}, folder_, {}}, std::chrono::seconds(5)),
            "");
}

TEST_F(PrerequisiteCheck, AnswersOnceWithWhatThePythonSays) {
  file("trainer/task.py");
  EventLoop loop;
  std::vector<wire::PrerequisitesMissing> answers;
  dlaunch::PrerequisiteCheck check(
      loop, [&](wire::PrerequisitesMissing answer) { answers.push_back(std::move(answer)); });
  wire::CheckPrerequisites question = wanted();
  question.lookups = {python("", "trainer.tsk")};
  const Environment login{{"PATH", "/usr/bin:/bin"}};
  check.begin(wanted(), login);
  EXPECT_EQ(answers.size(), 1U);
  check.begin(question, login);
  check.begin(question, login);  // the one before is answered without its Python
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_TRUE(answers[1].missing.empty());
  const MonotonicTime end = monotonic_now() + std::chrono::minutes(1);
  while (answers.size() < 3 && monotonic_now() < end) loop.run_one(end);
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[2].missing,
            (std::vector<StartFailure>{
                {Step::module, ENOENT, "/usr/bin/python3", "", "trainer.tsk", "trainer.task"}}));
}

TEST_F(PrerequisiteCheck, WithoutAWorkdirWhatIsMeantFromItIsNotLookedFor) {
  wire::CheckPrerequisites question = wanted();
  question.workdir += "/gone";
  question.programs = {{"./train", {}}, {"/no/such", {}}};
  question.files = {"train.py", "/no/such.py"};
  EXPECT_EQ(missing(question),
            (std::vector<StartFailure>{{Step::workdir, ENOENT, question.workdir, ""},
                                       {Step::execute, ENOENT, "/no/such", ""},
                                       {Step::file, ENOENT, "/no/such.py", ""}}));
  question = wanted();
  question.workdir = file("plain");
  EXPECT_EQ(missing(question),
            (std::vector<StartFailure>{{Step::workdir, ENOTDIR, question.workdir, ""}}));
}

}  // namespace
}  // namespace dlaunch
