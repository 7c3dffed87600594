#include "launch/connect/connection_process.h"

#include <memory>

#include <gtest/gtest.h>

#include "os/child_process.h"
#include "os/clock.h"

namespace dlaunch {
namespace {

constexpr std::chrono::seconds kLimit{20};

TEST(ConnectionProcess, KeepsNothingOpenOnceItIsOver) {
  EventLoop loop;
  auto started = ChildProcess::start(loop, {"true"}, {"PATH=/usr/bin:/bin"});
  ASSERT_TRUE(started) << started.error().message;
  std::shared_ptr<ChildProcess> process = std::move(*started);
  ConnectionProcess connection(loop, process->pid(), true, [process](int) { return LastWords(); });
  process->release();
  const std::weak_ptr<ChildProcess> watched = process;
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
