#include "plan/command.h"
#include "jobfile/shell_quote.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dlaunch {
namespace {

using testing::HasSubstr;

Command line(std::string text) {
  return {true, std::move(text), {}};
}
Command list(std::vector<std::string> argv) {
  return {false, "", std::move(argv)};
}

CommandPlan plan_string(const std::string& text, const std::string& setup = "",
                        Shell shell = Shell::sh) {
  return plan_command(line(text), shell, setup);
}

struct Ran {
  int code = -1;
  std::string out;  // stdout and stderr
};

/// Executes it like an agent: fork, then exec through PATH. `program` replaces argv[0], so that
/// both dash and bash act as sh.
Ran run(const CommandPlan& command, const std::string& program = "") {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  std::vector<char*> argv;
  for (const std::string& word : command.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const char* file = program.empty() ? argv[0] : program.c_str();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], 1);
    ::dup2(ends[1], 2);
    ::close(ends[0]);
    ::close(ends[1]);
    ::execvp(file, argv.data());
    ::_exit(99);
  }
  ::close(ends[1]);
  Ran ran;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    ran.out.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

/// The two shells that `sh` is in practice: Debian's dash, and bash under the name sh (POSIX mode).
class UnderEachSh : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string which = std::string("command -v ") + GetParam() + " >/dev/null";
    if (::system(which.c_str()) != 0) GTEST_SKIP() << GetParam() << " is not installed";
    std::string name = testing::TempDir() + "dlaunch-command-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  Ran run_string(const std::string& text, const std::string& setup = "") {
    return run(plan_string(text, setup), GetParam());
  }
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  std::string folder_;
};

INSTANTIATE_TEST_SUITE_P(Command, UnderEachSh, testing::Values("dash", "bash"));

TEST(Command, AListIsExecutedAsItIs) {
  const std::vector<std::string> argv = {"python", "a b.py", "$RANK", "'", ""};
  EXPECT_EQ(plan_command(list(argv), Shell::sh, ""), (CommandPlan{argv, false}));
  EXPECT_EQ(plan_command(list(argv), Shell::sh, " \n"), (CommandPlan{argv, false}))
      << "a blank setup is none";
}

TEST(Command, AStringGoesThroughTheShell) {
  EXPECT_EQ(plan_string("cd /tmp && ls"), (CommandPlan{{"sh", "-c", "cd /tmp && ls"}, true}));
  EXPECT_EQ(plan_string("cd /tmp && ls", "", Shell::bash),
            (CommandPlan{{"bash", "-c", "cd /tmp && ls"}, true}));
}

TEST(Command, ASimpleCommandLeavesNoShell) {
  EXPECT_EQ(plan_string("python train.py --rank $RANK\n"),
            (CommandPlan{{"sh", "-c", "exec python train.py --rank $RANK"}, false}));
  EXPECT_EQ(plan_string("python train.py", "", Shell::bash),
            (CommandPlan{{"bash", "-c", "python train.py"}, false}))
      << "bash does it by itself";
}

TEST(Command, WhatASimpleCommandIs) {
  for (const char* simple :
       {"true-ish", "python train.py", "./run.sh -x", "/usr/bin/env A=1 python x.py",
        "python 'a;b' \"c|d\"", "python -c \"print($(id -u))\"",
        "torchrun --nproc ${N} x.py > log 2>&1", "a b\\;c", "a # b"}) {
    EXPECT_TRUE(is_simple_command(simple)) << simple;
  }
  for (const char* other :
       {"",      "a;b",   "a && b", "a | b",   "a &",    "(a)",    "a `b`",    "a $(b)",  "a\nb",
        "X=1 a", "$P a",  "exec a", "cd /tmp", "echo a", ". ./x",  "[ -f x ]", "if true", "time a",
        "a 'b",  "a \"b", "{ a }",  "! a",     "exit 3", "a <(b)", "a &> b",   ": x"}) {
    EXPECT_FALSE(is_simple_command(other)) << other;
  }
}

TEST_P(UnderEachSh, TheLeaderIsTheProgramItself) {
  // sh -c prints the pid of its parent: if a shell were left in between, that shell would print its
  // own.
  const std::string me = std::to_string(::getpid());
  EXPECT_EQ(run_string("sh -c 'echo $PPID'").out, me + "\n");
  EXPECT_EQ(run_string("sh -c 'echo $PPID'", "A=1").out, me + "\n") << "after setup, too";
  EXPECT_EQ(run(plan_command(list({"sh", "-c", "echo $PPID"}), Shell::sh, "A=1"), GetParam()).out,
            me + "\n");
  EXPECT_EQ(run(plan_string("sh -c 'echo $PPID'", "A=1", Shell::bash)).out, me + "\n");
  EXPECT_EQ(run(plan_string("sh -c 'echo $PPID'", "", Shell::bash)).out, me + "\n");
}

TEST_P(UnderEachSh, ExitCodesAreTheCommands) {
  EXPECT_EQ(run_string("exit 7").code, 7);
  EXPECT_EQ(run_string("sh -c 'exit 7'").code, 7);
  EXPECT_EQ(run_string("sh -c 'exit 7'", "A=1").code, 7);
  EXPECT_EQ(run_string("no-such-program-here").code, 127);  // POSIX shell, 2.8.2
  EXPECT_EQ(run_string("no-such-program-here", "A=1").code, 127);
  EXPECT_EQ(run_string("sh -c 'kill -9 $$'").code, 128 + 9);
}

TEST_P(UnderEachSh, WhatSetupChangesStays) {
  EXPECT_EQ(run_string("echo $A $(pwd) $-", "cd /usr\nexport A=1\nset -u").out.substr(0, 7),
            "1 /usr ");
  EXPECT_EQ(run_string("sh -c 'echo $A; pwd'", "cd /usr; export A=2").out, "2\n/usr\n");
  EXPECT_EQ(run_string("greet eve", "greet() { echo hello $1; }").out, "hello eve\n")
      << "a function is no program to exec";
  EXPECT_EQ(run_string("sh -c 'echo done'", "trap 'echo bye' EXIT").out, "done\nbye\n")
      << "exec would drop the trap";
}

TEST_P(UnderEachSh, SetupMayEndWithACommentOrAHereDocument) {
  EXPECT_EQ(run_string("echo ok", "A=1 # a comment").out, "ok\n");
  EXPECT_EQ(run_string("echo ok", "cat <<END\nhello\nEND\n").out, "hello\nok\n");
}

TEST_P(UnderEachSh, AFailingLineOfSetupEndsTheRank) {
  for (const char* command : {"echo reached", "sh -c 'echo reached'"}) {
    Ran ran = run_string(command, "sh -c 'exit 3'\nA=1");
    EXPECT_EQ(ran.code, 3);
    EXPECT_EQ(ran.out, "setup failed with code 3\n") << "said once; the command did not run";
    ran = run_string(command,
                     "cd /no-such-folder && A=1");  // the left side of && does not trigger set -e
    EXPECT_NE(ran.code, 0);
    EXPECT_THAT(ran.out, HasSubstr("setup failed with code"));
    EXPECT_THAT(ran.out, testing::Not(HasSubstr("reached")));
    EXPECT_EQ(ran.out.find("setup failed"), ran.out.rfind("setup failed")) << "said once";
    ran = run_string(command, ". /no-such-file");
    EXPECT_NE(ran.code, 0);
    EXPECT_THAT(ran.out, HasSubstr("setup failed with code"));
    ran = run_string(command, "trap 'echo bye' EXIT\nsh -c 'exit 3'");
    EXPECT_EQ(ran.code, 3) << "a trap of setup's own stays";
    EXPECT_EQ(ran.out, "bye\n");
    EXPECT_THAT(ran.out, testing::Not(HasSubstr("reached")));
  }
  EXPECT_EQ(
      run(plan_command(list({"echo", "reached"}), Shell::sh, "sh -c 'exit 3'"), GetParam()).code,
      3);
}

TEST_P(UnderEachSh, SetMinusEDoesNotReachTheCommand) {
  EXPECT_EQ(run_string("sh -c 'exit 3'; echo reached", "A=1").out, "reached\n");
}

TEST_P(UnderEachSh, SourceWorksInSh) {
  const std::string script = write("activate", "export A=from-script\nwhere=$1\n");
  EXPECT_EQ(run_string("sh -c 'echo $A'", "source " + script).out, "from-script\n");
  EXPECT_EQ(run_string("source " + script + " && echo $A").out, "from-script\n");
  EXPECT_EQ(run_string("echo a source of trouble").out, "a source of trouble\n");
}

TEST_P(UnderEachSh, AListAfterSetupStaysAsItIs) {
  const auto command =
      plan_command(list({"printf", "<%s>", "a b", "$HOME", "'", ""}), Shell::sh, "A=1");
  EXPECT_EQ(run(command, GetParam()).out, "<a b><$HOME><'><>");
  EXPECT_FALSE(command.is_own_shell);
}

TEST_P(UnderEachSh, ShellMessagesCarryTheShellsName) {
  EXPECT_EQ(run_string("no-such-program-here; true").out.substr(0, 3), "sh:");
}

TEST(Command, TextIsWhatTheUserWrote) {
  const std::vector<std::pair<Command, std::string>> cases = {
      {line("python train.py --epochs 3"), "python train.py --epochs 3"},
      {line("cd src\npython train.py\n"), "cd src; python train.py"},
      {list({"python", "a b.py", "x"}), "python 'a b.py' x"},
      {list({"sh", "-c", "echo $RANK"}), "sh -c 'echo $RANK'"},
      {line("exec python train.py"), "exec python train.py"},
  };
  for (const auto& [command, text] : cases) {
    for (const char* setup : {"", "source venv/bin/activate\nmodule load cuda"}) {
      for (const Shell shell : {Shell::sh, Shell::bash}) {
        if (!command.is_shell && command.argv[0] == "sh" && *setup == '\0') continue;  // next test
        EXPECT_EQ(command_text(plan_command(command, shell, setup)), text) << setup;
      }
    }
  }
}

TEST(Command, WordsAreQuotedOnlyWhereTheyMust) {
  EXPECT_EQ(jobfile::shell_quote("a-b/c_d.e=1:2,3"), "a-b/c_d.e=1:2,3");
  EXPECT_EQ(jobfile::shell_quote(""), "''");
  EXPECT_EQ(jobfile::shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(jobfile::shell_quote("a b"), "'a b'");
  EXPECT_EQ(run(plan_string("printf %s " + jobfile::shell_quote("$A `b` \"c\" 'd'\n\\"))).out,
            "$A `b` \"c\" 'd'\n\\");
}

}  // namespace
}  // namespace dlaunch
