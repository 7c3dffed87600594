#include "os/child_process.h"

#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "os/clock.h"

namespace dlaunch {
namespace {

constexpr std::chrono::seconds kLimit{20};

std::shared_ptr<ChildProcess> start(EventLoop& loop, const char* seconds) {
  auto process = ChildProcess::start(loop, {"sleep", seconds}, {"PATH=/usr/bin:/bin"});
  return process ? *process : nullptr;
}

/// True for a zombie, too.
bool is_there(pid_t pid) {
  return ::kill(pid, 0) == 0 || errno != ESRCH;
}

TEST(ChildProcess, AChildThatIsNotReleasedIsKilledAndLeavesNoZombie) {
  EventLoop loop;
  auto process = start(loop, "60");
  ASSERT_TRUE(process);
  const pid_t pid = process->pid();
  process.reset();
  const MonotonicTime end = monotonic_now() + kLimit;
  while (is_there(pid) && loop.run_one(end)) {
  }
  EXPECT_FALSE(is_there(pid));
}

TEST(ChildProcess, SaysHowItEndedOnceItHas) {
  EventLoop loop;
  const auto process = ChildProcess::start(loop, {"sh", "-c", "echo out; echo err >&2; exit 3"},
                                           {"PATH=/usr/bin:/bin"});
  ASSERT_TRUE(process) << process.error().message;
  std::optional<int> status;
  bool told = false;
  (*process)->on_end([&](std::optional<int> wait_status) {
    told = true;
    status = wait_status;
  });
  const MonotonicTime end = monotonic_now() + kLimit;
  while (!told && loop.run_one(end)) {
  }
  ASSERT_TRUE(told);
  EXPECT_EQ(status, 3 << 8);
  EXPECT_EQ((*process)->errors(), "err\n");
}

// An agent reaps all children in one place.
TEST(ChildProcess, HasEndedWhenAnotherPartOfTheProcessHasReapedIt) {
  EventLoop loop;
  const auto process = start(loop, "0");
  ASSERT_TRUE(process);
  ASSERT_EQ(::waitpid(process->pid(), nullptr, 0), process->pid());
  bool told = false;
  process->on_end([&](std::optional<int> wait_status) {
    told = true;
    EXPECT_EQ(wait_status, std::nullopt);
  });
  process->end(true);  // its number may be another process's by now
  const MonotonicTime end = monotonic_now() + kLimit;
  while (!told && loop.run_one(end)) {
  }
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace dlaunch
