#include "os/signals.h"

#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace dlaunch {
namespace {

/// Signals of this process to itself.
class RepeatedSignalsTest : public testing::Test {
 protected:
  RepeatedSignalsTest() {
    block_signals({SIGINT, SIGTERM});
    signals_ = *open_signal_fd({SIGINT, SIGTERM});
  }
  int send(int number) {
    ::kill(::getpid(), number);
    return repeated_.read(signals_.get());
  }
  UniqueFd signals_;
  RepeatedSignals repeated_;
};

TEST_F(RepeatedSignalsTest, TheSameSignalOfOneSenderCountsOnceWithinAMoment) {
  EXPECT_EQ(send(SIGTERM), SIGTERM);
  EXPECT_EQ(send(SIGTERM), 0) << "as timeout(1) does it";
  EXPECT_EQ(send(SIGINT), SIGINT) << "another signal";
  EXPECT_EQ(send(SIGTERM), SIGTERM);
}

TEST_F(RepeatedSignalsTest, ALaterOneCounts) {
  EXPECT_EQ(send(SIGTERM), SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(110));
  EXPECT_EQ(send(SIGTERM), SIGTERM);
}

}  // namespace
}  // namespace dlaunch
