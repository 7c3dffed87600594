#include "os/spawn.h"

#include <cerrno>
#include <csignal>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/close_range.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/unique_fd.h"

namespace dlaunch {
namespace {

class Spawn : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/dlaunch-spawn-XXXXXX";
    folder_ = ::mkdtemp(name);
    null_.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
  }
  void TearDown() override { std::system(("rm -rf " + folder_).c_str()); }

  std::string file(const std::string& name, const std::string& text, mode_t mode) {
    const std::string path = folder_ + '/' + name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }

  tl::expected<pid_t, StartFailure> run(const Program& program, std::vector<const char*> argv) {
    argv.push_back(nullptr);
    const char* envp[] = {"A=1", nullptr};
    SpawnRequest request;
    request.program = &program;
    request.argv = argv.data();
    request.envp = envp;
    request.workdir = workdir_.c_str();
    request.stdin_fd = request.stderr_fd = null_.get();
    request.stdout_fd = out_.valid() ? out_.get() : null_.get();
    request.extra_fd = extra_.get();
    request.extra_fd_number = extra_number_;
    const auto spawned = spawn(request);
    if (!spawned) return tl::unexpected(spawned.error());
    return spawned->pid;
  }

  static int code_of(pid_t pid) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::string folder_;
  std::string workdir_ = "/";
  UniqueFd null_;
  UniqueFd out_;
  UniqueFd extra_;
  int extra_number_ = -1;
};

TEST_F(Spawn, SearchesThePathOfTheRankInOrder) {
  file("tool", "#!/bin/sh\nexit 3\n", 0755);
  const Program program = find_program("tool", "/nowhere:" + folder_ + ":/bin", "/");
  ASSERT_EQ(program.candidates, std::vector<std::string>{folder_ + "/tool"});
  const auto pid = run(program, {"tool"});
  ASSERT_TRUE(pid);
  EXPECT_EQ(code_of(*pid), 3);
}

TEST_F(Spawn, OneMoreDescriptorUnderItsNumber) {
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  const Program shell = find_program("sh", "/bin", "/");
  const char* look = "test -e /proc/self/fd/29 && test ! -e /proc/self/fd/28";
  extra_number_ = 29;
  extra_.reset(::fcntl(null_.get(), F_DUPFD_CLOEXEC, 28));
  ASSERT_EQ(extra_.get(), 28);
  EXPECT_EQ(code_of(run(shell, {"sh", "-c", look}).value_or(0)), 0);
  extra_.reset(::fcntl(null_.get(), F_DUPFD_CLOEXEC, 29));
  ASSERT_EQ(extra_.get(), 29) << "is it that already?";
  EXPECT_EQ(code_of(run(shell, {"sh", "-c", look}).value_or(0)), 0);
  EXPECT_EQ(::fcntl(29, F_GETFD), FD_CLOEXEC) << "others do not inherit it";
}

TEST_F(Spawn, RelativeEntriesAndNamesAreMeantFromTheWorkdir) {
  file("tool", "x", 0755);
  EXPECT_EQ(find_program("tool", ".", folder_).candidates,
            std::vector<std::string>{folder_ + "/tool"});
  EXPECT_EQ(find_program("tool", "", folder_).candidates,
            std::vector<std::string>{folder_ + "/tool"});
  EXPECT_EQ(find_program("./tool", "/bin", folder_).candidates,
            std::vector<std::string>{folder_ + "/tool"});
}

TEST_F(Spawn, ErrorsOfExecComeBackWithTheirErrno) {
  using Step = StartFailure::Step;
  const auto failure = [&](const std::string& name) {
    return run(find_program(name, "/bin", "/"), {"x"}).error();
  };
  EXPECT_EQ(failure("no-such-program"),
            (StartFailure{Step::execute, ENOENT, "no-such-program", "/bin"}));
  const std::string plain = file("plain", "no program", 0755);
  EXPECT_EQ(failure(plain), (StartFailure{Step::execute, ENOEXEC, plain, ""}));
  const std::string orphan = file("orphan", "#!/no/such/interpreter\n", 0755);
  EXPECT_EQ(failure(orphan), (StartFailure{Step::interpreter, ENOENT, orphan, ""}));
  const std::string locked = file("locked", "#!/bin/sh\n", 0644);
  EXPECT_EQ(failure(locked), (StartFailure{Step::execute, EACCES, locked, ""}));
  // execve(2): EACCES, "the file is not a regular file".
  EXPECT_EQ(failure(folder_), (StartFailure{Step::execute, EISDIR, folder_, ""}));
  workdir_ = folder_ + "/absent";
  EXPECT_EQ(run(find_program("true", "/bin", "/"), {"true"}).error(),
            (StartFailure{Step::workdir, ENOENT, workdir_, ""}));
}

TEST_F(Spawn, TheChildLeadsItsOwnGroupWithAnEmptyMaskAndThreeDescriptors) {
  // Descriptors inherited by this test program are not spawn's concern: an agent has closed them
  // long before.
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  out_ = std::move(pipe->write);
  const auto pid =
      run(find_program("sh", "/bin", "/"), {"sh", "-c",
                                            "ls /proc/self/fd | wc -l; ps -o pgid= -p $$; echo $$ "
                                            "$A; exec grep SigBlk /proc/self/status"});
  sigprocmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(pid);
  out_.reset();
  std::string text;
  char c = 0;
  while (::read(pipe->read.get(), &c, 1) == 1) {
    if (c != ' ') text += c;
  }
  EXPECT_EQ(code_of(*pid), 0);
  const std::string id = std::to_string(*pid);
  // ls itself holds a fourth one: the folder that it reads.
  EXPECT_EQ(text, "4\n" + id + '\n' + id + "1\nSigBlk:\t0000000000000000\n");
}

}  // namespace
}  // namespace dlaunch
