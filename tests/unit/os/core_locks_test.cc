#include "os/core_locks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using Cpus = std::vector<int>;

class CoreLocksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "dlaunch-locks-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] CoreLocks open() const { return CoreLocks::open(folder_).value(); }
  [[nodiscard]] std::string file() const {
    return folder_ + "/dlaunch-cores-" + std::to_string(::geteuid());
  }

  std::string folder_;
};

TEST_F(CoreLocksTest, TwoRunsDoNotTakeTheSameCores) {
  CoreLocks first = open();
  CoreLocks second = open();
  EXPECT_EQ(first.taken({0, 1, 2, 3}), Cpus{});
  EXPECT_TRUE(first.try_lock({1, 2}));
  EXPECT_EQ(second.taken({3, 2, 1, 0}), (Cpus{2, 1}));
  EXPECT_EQ(first.taken({0, 1, 2, 3}), Cpus{}) << "its own locks do not count";
  EXPECT_FALSE(second.try_lock({2}));
  EXPECT_TRUE(second.try_lock({0, 3}));
  EXPECT_EQ(first.taken({0, 1, 2, 3}), (Cpus{0, 3}));
  first.unlock_all();
  EXPECT_TRUE(second.try_lock({0, 1, 2, 3}));
}

TEST_F(CoreLocksTest, AllOrNoneAndWhatItHadStays) {
  CoreLocks first = open();
  CoreLocks second = open();
  ASSERT_TRUE(first.try_lock({5}));
  ASSERT_TRUE(second.try_lock({0, 1}));
  // 0 is its own already, 3 and 4 are free, 5 is not.
  EXPECT_FALSE(second.try_lock({0, 3, 4, 5, 9}));
  EXPECT_EQ(first.taken({0, 1, 2, 3, 4, 5, 9}), (Cpus{0, 1}));
  EXPECT_TRUE(second.try_lock({}));
  second.unlock_all();
  EXPECT_EQ(first.taken({0, 1}), Cpus{});
}

TEST_F(CoreLocksTest, ManyCpus) {
  CoreLocks first = open();
  CoreLocks second = open();
  Cpus even;
  Cpus all;
  for (int cpu = 0; cpu < 1024; ++cpu) {
    all.push_back(cpu);
    if (cpu % 2 == 0) even.push_back(cpu);
  }
  ASSERT_TRUE(first.try_lock(even));
  EXPECT_EQ(second.taken(all), even);
}

TEST_F(CoreLocksTest, ALockEndsWithItsHolderHoweverItDies) {
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Result<CoreLocks> locks = CoreLocks::open(folder_);
    const char answer = locks && locks->try_lock({0, 1}) ? 'y' : 'n';
    (void)!::write(ready[1], &answer, 1);
    for (;;) ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  CoreLocks mine = open();
  EXPECT_EQ(mine.taken({0, 1, 2}), (Cpus{0, 1}));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(mine.taken({0, 1, 2}), Cpus{});
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(CoreLocksTest, AForkedChildSharesTheLockAndExecEndsItsPart) {
  auto mine = std::make_unique<CoreLocks>(open());
  ASSERT_TRUE(mine->try_lock({0}));
  std::array<int, 2> wait{};
  ASSERT_EQ(::pipe(wait.data()), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // cat ends when the pipe does
    ::dup2(wait[0], 0);
    ::close(wait[0]);
    ::close(wait[1]);
    ::execl("/bin/cat", "cat", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(wait[0]);
  CoreLocks other = open();
  mine.reset();
  // Until it has executed cat the child has the descriptor too; close-on-exec ends that. It cannot
  // end before, because its pipe is open: so the lock must become free while it lives.
  while (!other.try_lock({0})) ::sched_yield();
  EXPECT_EQ(::kill(child, 0), 0);
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0);
  ::close(wait[1]);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_F(CoreLocksTest, TheFileIsItsUsersAlone) {
  const mode_t before = ::umask(0);
  (void)open();
  ::umask(before);
  struct stat status = {};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  EXPECT_EQ(status.st_size, 0);
  ::chmod(file().c_str(), 0644);
  EXPECT_EQ(CoreLocks::open(folder_).error().message,
            file() + ": it belongs to another user or is open to others; remove it");
}

TEST_F(CoreLocksTest, SymbolicLinksAndOtherThingsAreRefused) {
  const std::string target = folder_ + "/target";
  ASSERT_EQ(::symlink(target.c_str(), file().c_str()), 0);
  const Result<CoreLocks> linked = CoreLocks::open(folder_);
  ASSERT_FALSE(linked.has_value());
  EXPECT_EQ(linked.error().message,
            file() + ": it is a symbolic link, which is not followed; remove it");
  EXPECT_FALSE(std::filesystem::exists(target)) << "nothing was made behind the link";
  ASSERT_EQ(::unlink(file().c_str()), 0);
  ASSERT_EQ(::mkfifo(file().c_str(), 0666), 0);
  EXPECT_EQ(CoreLocks::open(folder_).error().message,
            file() + ": it is not a regular file; remove it");
  ASSERT_EQ(::unlink(file().c_str()), 0);
  ASSERT_EQ(::mkdir(file().c_str(), 0777), 0);
  EXPECT_FALSE(CoreLocks::open(folder_).has_value());
}

TEST_F(CoreLocksTest, AFolderThatIsAbsentOrCannotBeWritten) {
  EXPECT_FALSE(CoreLocks::open(folder_ + "/absent").has_value());
  EXPECT_FALSE(CoreLocks::open("/proc").has_value());
}

constexpr uid_t kOther = 65534;

/// Runs `act` as another user; its exit code, or 10.
template <class Act>
int as_other_user(Act act) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(kOther) != 0 || ::setuid(kOther) != 0) ::_exit(10);
    ::_exit(act());
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 10;
}

class CoresOfTwoUsers : public CoreLocksTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
    CoreLocksTest::SetUp();
    ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);
  }
};

TEST_F(CoresOfTwoUsers, EachSeesWhatTheOtherHas) {
  CoreLocks mine = open();
  ASSERT_TRUE(mine.try_lock({3, 4, 9}));
  EXPECT_EQ(as_other_user([&] {
              Result<CoreLocks> locks = CoreLocks::open(folder_);
              if (!locks) return 11;
              if (locks->taken({2, 3, 9}) != Cpus{3, 9}) return 12;
              if (locks->try_lock({2, 3})) return 13;
              // None of the refused ones is held.
              return locks->taken({2}).empty() && locks->try_lock({2, 5}) ? 0 : 14;
            }),
            0);
  EXPECT_TRUE(mine.try_lock({2, 5})) << "its locks ended with it";
  mine.unlock_all();
  EXPECT_EQ(as_other_user([&] { return CoreLocks::open(folder_)->try_lock({3}) ? 0 : 11; }), 0);
}

TEST_F(CoresOfTwoUsers, NoOtherUserCanLockTheFileOrReadIt) {
  CoreLocks mine = open();
  const std::string name = file();
  EXPECT_EQ(as_other_user([&] {
              if (::open(name.c_str(), O_RDONLY) >= 0 || errno != EACCES) return 11;
              return ::open(name.c_str(), O_WRONLY) >= 0 ? 12 : 0;
            }),
            0);
}

TEST_F(CoresOfTwoUsers, AFileThatIsNotOfTheUserInItsNameClaimsNothing) {
  // Owned by root in this test, and then open to all.
  for (const auto& [name, mode] :
       {std::pair{"dlaunch-cores-1234", 0600}, {"dlaunch-cores-0", 0666}}) {
    const std::string path = folder_ + "/" + name;
    const int forged = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(::fchmod(forged, static_cast<mode_t>(mode)), 0);
    struct flock all = {};
    all.l_type = F_WRLCK;
    ASSERT_EQ(::fcntl(forged, F_OFD_SETLK, &all), 0);
    EXPECT_EQ(as_other_user([&] { return CoreLocks::open(folder_)->try_lock({1}) ? 0 : 11; }), 0)
        << name;
    ::close(forged);
    ::unlink(path.c_str());
  }
}

TEST_F(CoresOfTwoUsers, ANameThatAnotherUserHasTakenIsReported) {
  const std::string name = file();
  ASSERT_EQ(as_other_user([&] { return ::open(name.c_str(), O_RDWR | O_CREAT, 0666) < 0; }), 0);
  const Result<CoreLocks> locks = CoreLocks::open(folder_);
  ASSERT_FALSE(locks);
  EXPECT_NE(locks.error().message.find(file()), std::string::npos) << locks.error().message;
}

TEST(CoreLocks, TheFileOnThisMachineOpens) {
  EXPECT_TRUE(CoreLocks::open().has_value());
}

}  // namespace
}  // namespace dlaunch
