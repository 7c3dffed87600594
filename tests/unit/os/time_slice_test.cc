#include "os/time_slice.h"

#include <cstdint>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dlaunch {
namespace {

/// The flags (sched_setattr(2)) of the calling process, then its slice in ns.
struct Scheduling {
  std::uint64_t flags = 0, slice = 0;
};

Scheduling scheduling() {
  std::uint64_t attributes[6] = {};  // size and policy, flags, nice and priority, runtime, ...
  if (::syscall(SYS_sched_getattr, 0, attributes, sizeof attributes, 0) != 0) return {};
  return {attributes[1], attributes[3]};
}

/// The same as a child sees it that the calling process forks.
Scheduling scheduling_of_child() {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t pid = ::fork();
  if (pid == 0) {
    const Scheduling own = scheduling();
    ::_exit(::write(ends[1], &own, sizeof own) == sizeof own ? 0 : 1);
  }
  ::waitpid(pid, nullptr, 0);
  Scheduling read;
  EXPECT_EQ(::read(ends[0], &read, sizeof read), static_cast<ssize_t>(sizeof read));
  ::close(ends[0]);
  ::close(ends[1]);
  return read;
}

TEST(TimeSliceTest, RanksDoNotInheritIt) {
  const Scheduling before = scheduling();
  if (::getpriority(PRIO_PROCESS, 0) < 0) GTEST_SKIP() << "a nice value below 0";
  shorten_time_slice();
  const Scheduling own = scheduling();
  EXPECT_EQ(own.flags & 1U, 1U);  // SCHED_FLAG_RESET_ON_FORK
  // Kernels before 6.12 report 0: they know no slice of a task.
  EXPECT_TRUE(own.slice == 100'000 || own.slice == 0) << own.slice;
  const Scheduling child = scheduling_of_child();
  EXPECT_EQ(child.flags, before.flags);
  EXPECT_EQ(child.slice, before.slice);
}

}  // namespace
}  // namespace dlaunch
