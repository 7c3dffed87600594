#include "os/job_tree.h"

#include <algorithm>
#include <array>
#include <csignal>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "os/containment.h"
#include "os/stuck.h"

namespace dlaunch {
namespace {

/// Forks `depth` processes, each below the previous one; the last one executes sleep and has a
/// child that does so, too. Every process writes its pid to `pipe` before the next one exists. The
/// one at `hidden` is like a guardian: not dumpable, and with its name.
void grow(int pipe, int depth, int hidden = -1) {
  const pid_t self = ::getpid();
  if (depth == hidden) {
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    ::prctl(PR_SET_NAME, "dlaunch-guardian", 0, 0, 0);
  } else if (hidden >= 0) {
    ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  }
  if (::write(pipe, &self, sizeof self) != sizeof self) ::_exit(1);
  if (depth == 0) {
    if (::fork() == 0) {
      const pid_t child = ::getpid();
      if (::write(pipe, &child, sizeof child) != sizeof child) ::_exit(1);
    }
    ::execlp("sleep", "sleep", "1000", nullptr);
    ::_exit(127);
  }
  if (::fork() == 0) grow(pipe, depth - 1, hidden);
  while (true) ::pause();
}

class JobTree : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t engine = ::fork();
    if (engine == 0)
      grow(ends[1], 3);  // engine, guardian, agent, rank, and what the rank has started
    ASSERT_GT(engine, 0);
    for (pid_t& pid : pids_) ASSERT_EQ(::read(ends[0], &pid, sizeof pid), ssize_t{sizeof pid});
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void TearDown() override {
    for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
    ::waitpid(pids_[0], nullptr, 0);
  }

  std::array<pid_t, 5> pids_{};
};

TEST_F(JobTree, HoldsWhatIsBelowTheAgent) {
  std::vector<pid_t> found = job_processes(pids_[0]);
  std::sort(found.begin(), found.end());
  std::vector<pid_t> expected{pids_[3], pids_[4]};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(found, expected);
  EXPECT_EQ(launcher_processes(pids_[0]), (std::vector<pid_t>{pids_[0], pids_[1], pids_[2]}));
}

TEST_F(JobTree, IsEndedWithoutTheLauncher) {
  EXPECT_EQ(kill_job_processes(pids_[0], std::chrono::seconds(5)).size(), 2U);
  EXPECT_TRUE(job_processes(pids_[0]).empty());
  for (int i = 0; i < 3; ++i) EXPECT_NE(state_of(pids_[static_cast<std::size_t>(i)]), 'Z');
  EXPECT_TRUE(kill_job_processes(pids_[0], std::chrono::seconds(0)).empty());
}

/// Without root's rights: what job_processes() finds below a non-dumpable guardian.
std::size_t found_by_an_ordinary_user() {
  constexpr unsigned kOther = 65534;
  if (::geteuid() == 0 && (::setgid(kOther) != 0 || ::setuid(kOther) != 0)) return 0;
  int ends[2];
  if (::pipe(ends) != 0) return 0;
  const pid_t engine = ::fork();
  if (engine == 0) grow(ends[1], 3, 2);
  std::array<pid_t, 5> pids{};
  for (pid_t& pid : pids) {
    if (::read(ends[0], &pid, sizeof pid) != ssize_t{sizeof pid}) return 0;
  }
  const std::size_t found = job_processes(engine).size();
  for (const pid_t pid : pids) ::kill(pid, SIGKILL);
  return found;
}

TEST(JobTreeOfAnOrdinaryUser, HoldsWhatIsBelowAGuardianThatIsNotDumpable) {
  const pid_t user = ::fork();
  if (user == 0) ::_exit(static_cast<int>(found_by_an_ordinary_user()));
  int status = 0;
  ASSERT_EQ(::waitpid(user, &status, 0), user);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);  // a rank, and what it has started
}

TEST(ChildNumbered, KnowsAChildByItsOwnNumber) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  EXPECT_EQ(child_numbered(::getpid(), child), child);
  EXPECT_EQ(child_numbered(::getpid(), ::getpid()), 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(JobTreeWithoutEngine, IsEmpty) {
  EXPECT_TRUE(job_processes(0x3fffff0).empty());
}

}  // namespace
}  // namespace dlaunch
