#include "os/process_identity.h"

#include <gtest/gtest.h>

#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/files.h"
#include "os/own_machine.h"

namespace dlaunch {
namespace {

pid_t fork_sleeper() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (;;) ::pause();
  }
  return pid;
}

TEST(ProcessIdentity, IsGoneWithItsProcess) {
  const pid_t pid = fork_sleeper();
  const ProcessIdentity sleeper = identity_of(pid);
  EXPECT_EQ(sleeper.pid, pid);
  EXPECT_GT(sleeper.start_ticks, 0U);
  const UniqueFd pidfd = open_process(sleeper);
  ASSERT_TRUE(pidfd);
  EXPECT_EQ(signal_process(pidfd.get(), SIGKILL), 0);
  pollfd ended{pidfd.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, 10'000), 1);
  EXPECT_EQ(identity_of(pid), ProcessIdentity{});  // a zombie has ended, too
  EXPECT_FALSE(open_process(sleeper));
  ::waitpid(pid, nullptr, 0);
  EXPECT_FALSE(open_process(sleeper));
  EXPECT_EQ(signal_process(pidfd.get(), SIGTERM), ESRCH);
}

TEST(ProcessIdentity, AReusedPidIsRefused) {
  ProcessIdentity self = identity_of(::getpid());
  EXPECT_TRUE(open_process(self));
  ++self.start_ticks;
  EXPECT_FALSE(open_process(self));
  EXPECT_FALSE(open_process({}));
  EXPECT_FALSE(open_process({::getpid(), 0}));
}

TEST(ProcessIdentity, BootAndHostAreKnown) {
  EXPECT_EQ(boot_id().size(), 36U);
  EXPECT_EQ(boot_id(), boot_id());
  EXPECT_FALSE(own_hostname().empty());
}

TEST(FileLock, EndsWithItsLastDescriptorAndIsSeenByOthersOnly) {
  char path[] = "/tmp/dlaunch-lock-XXXXXX";
  UniqueFd holder(::mkstemp(path));
  ASSERT_TRUE(holder);
  const UniqueFd other(::open(path, O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(look_at_byte_lock(other.get(), 0), LockSeen::free);
  ASSERT_TRUE(set_byte_lock(holder.get(), 0, true));
  EXPECT_EQ(look_at_byte_lock(other.get(), 0), LockSeen::held);
  EXPECT_EQ(look_at_byte_lock(other.get(), 1), LockSeen::free);
  EXPECT_EQ(look_at_byte_lock(holder.get(), 0), LockSeen::free);  // its own
  const UniqueFd third(::open(path, O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(set_byte_lock(third.get(), 0, true));
  holder.reset();
  EXPECT_EQ(look_at_byte_lock(other.get(), 0), LockSeen::free);
  ::unlink(path);
}

TEST(FileLock, SurvivesARenameAndDiesWithAKilledProcess) {
  char path[] = "/tmp/dlaunch-lock-XXXXXX";
  const UniqueFd maker(::mkstemp(path));
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int own = ::open(path, O_RDWR | O_CLOEXEC);
    const bool locked = set_byte_lock(own, 0, true);
    [[maybe_unused]] const ssize_t n = ::write(ready[1], locked ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  const std::string renamed = std::string(path) + ".json";
  ASSERT_EQ(::rename(path, renamed.c_str()), 0);
  const UniqueFd other(::open(renamed.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(look_at_byte_lock(other.get(), 0), LockSeen::held);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(look_at_byte_lock(other.get(), 0), LockSeen::free);
  ::unlink(renamed.c_str());
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace dlaunch
