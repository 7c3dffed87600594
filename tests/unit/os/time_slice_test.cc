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

/// Exits with 0 if what it has is right and its own child has what it began with.
[[noreturn]] void shorten_and_look() {
  const Scheduling before = scheduling();
  shorten_time_slice();
  const Scheduling own = scheduling();
  if ((own.flags & 1U) == 0) ::_exit(2);  // SCHED_FLAG_RESET_ON_FORK
  // Kernels before 6.12 report 0: they know no slice of a task.
  if (own.slice != 100'000 && own.slice != 0) ::_exit(3);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const Scheduling child = scheduling();
    ::_exit(child.flags == before.flags && child.slice == before.slice ? 0 : 4);
  }
  int status = 0;
  ::_exit(::waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 5);
}

TEST(TimeSliceTest, RanksDoNotInheritIt) {
  if (::getpriority(PRIO_PROCESS, 0) < 0) GTEST_SKIP() << "a nice value below 0";
  const pid_t pid = ::fork();  // the program's other tests keep their slice
  if (pid == 0) shorten_and_look();
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace dlaunch
