#include "plan/command.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using Words = std::vector<std::string>;

// Options: python(1), "COMMAND LINE OPTIONS".
TEST(PythonCommand, TheScript) {
  const auto script = [](const Words& argv) {
    const auto command = python_command(argv);
    return command ? command->script : "none";
  };
  EXPECT_EQ(script({"python", "train.py"}), "train.py");
  EXPECT_EQ(script({"/usr/bin/python3.11", "-u", "-B", "a/b.py"}), "a/b.py");
  EXPECT_EQ(script({"python", "-uB", "-W", "x.py", "-Xdev", "y.py", "-m", "z"}), "y.py");
  EXPECT_EQ(script({"python", "folder"}), "folder");
  EXPECT_EQ(script({"python", "-c", "x.py"}), "none");
  EXPECT_EQ(script({"python", "-uc", "x.py"}), "none");
  EXPECT_EQ(script({"python", "-", "x.py"}), "none");
  EXPECT_EQ(script({"python", "--version", "x.py"}), "none");
  EXPECT_EQ(script({"python", "-W"}), "none");
  EXPECT_EQ(script({"pythonista", "x.py"}), "none");
  EXPECT_EQ(script({"python"}), "none");
  EXPECT_EQ(script({}), "none");
}

TEST(PythonCommand, TheModule) {
  EXPECT_EQ(python_command({"python3", "-u", "-m", "a.b", "x.py"}),
            (PythonCommand{{"-u"}, "", "a.b"}));
  EXPECT_EQ(python_command({"python3", "-Im", "a"}), (PythonCommand{{"-I"}, "", "a"}));
  EXPECT_EQ(python_command({"python3", "-ma.b"}), (PythonCommand{{}, "", "a.b"}));
  EXPECT_EQ(python_command({"python3", "-m"}), std::nullopt);
}

TEST(PythonCommand, TheScriptOfAShell) {
  EXPECT_EQ(shell_script({"bash", "-eux", "run.sh", "a"}), "run.sh");
  EXPECT_EQ(shell_script({"/bin/sh", "run.sh"}), "run.sh");
  EXPECT_EQ(shell_script({"bash", "-c", "run.sh"}), std::nullopt);
  EXPECT_EQ(shell_script({"bash", "-o", "pipefail", "run.sh"}), std::nullopt);
  EXPECT_EQ(shell_script({"bash", "--norc", "run.sh"}), std::nullopt);
  EXPECT_EQ(shell_script({"bash", "-s"}), std::nullopt);
  EXPECT_EQ(shell_script({"fish", "run.fish"}), std::nullopt);
  EXPECT_EQ(shell_script({"sh"}), std::nullopt);
}

}  // namespace
}  // namespace dlaunch
