#include "launch/connect/ssh_process.h"

#include <cerrno>
#include <csignal>
#include <memory>

#include <gtest/gtest.h>

#include "launch/connect/connection_process.h"
#include "os/clock.h"

namespace dlaunch {
namespace {

constexpr std::chrono::seconds kLimit{20};

std::shared_ptr<SshProcess> start(EventLoop& loop, const char* seconds) {
  auto process = SshProcess::start(loop, {"sleep", seconds}, {"PATH=/usr/bin:/bin"});
  return process ? *process : nullptr;
}

/// True for a zombie, too.
bool is_there(pid_t pid) {
  return ::kill(pid, 0) == 0 || errno != ESRCH;
}

TEST(SshProcess, AChildThatIsNotReleasedIsKilledAndLeavesNoZombie) {
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

TEST(ConnectionProcess, KeepsNothingOpenOnceItIsOver) {
  EventLoop loop;
  auto process = start(loop, "0");
  ASSERT_TRUE(process);
  ConnectionProcess connection(loop, process->pid(), true, [process](int) { return LastWords(); });
  process->release();
  const std::weak_ptr<SshProcess> watched = process;
  process.reset();
  bool told = false;
  connection.wait_for_end(kLimit, [&](const ConnectionEnd& end) {
    told = true;
    EXPECT_EQ(end.exit_code, 0);
  });
  const MonotonicTime end = monotonic_now() + kLimit;
  while (!told && loop.run_one(end)) {
  }
  EXPECT_TRUE(told);
  loop.poll();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace dlaunch
