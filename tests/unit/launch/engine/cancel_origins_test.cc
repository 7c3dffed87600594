#include "launch/engine/signal_side.h"

#include <chrono>
#include <csignal>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr CancelOrigin kFront = CancelOrigin::front;
constexpr CancelOrigin kEngine = CancelOrigin::engine;
constexpr CancelOrigin kNodes = CancelOrigin::nodes;

TEST(CancelOrigins, ASecondOneOfTheSameCounts) {
  CancelOrigins origins;
  EXPECT_FALSE(origins.any());
  EXPECT_TRUE(origins.counts(kFront, SIGINT, seconds(100)));
  EXPECT_TRUE(origins.any());
  EXPECT_TRUE(origins.counts(kFront, SIGINT, seconds(100) + milliseconds(10)));
}

TEST(CancelOrigins, OneThatReachesAllProcessesIsOne) {
  CancelOrigins origins;
  EXPECT_TRUE(origins.counts(kEngine, SIGTERM, seconds(100)));
  EXPECT_FALSE(origins.counts(kFront, SIGTERM, seconds(100) + milliseconds(900)));
  EXPECT_TRUE(origins.counts(kFront, SIGTERM, seconds(102)));
}

TEST(CancelOrigins, AnotherOneAWhileLaterCounts) {
  CancelOrigins origins;
  EXPECT_TRUE(origins.counts(kEngine, SIGTERM, seconds(100)));
  EXPECT_TRUE(origins.counts(kFront, SIGTERM, seconds(102)));
}

// slurmd signals the steps first, and the batch script when they are done, or seconds later.
TEST(CancelOrigins, TheScriptsSigtermAfterTheStepsIsTheSameOne) {
  CancelOrigins origins;
  EXPECT_TRUE(origins.counts(kNodes, SIGTERM, seconds(100)));
  EXPECT_FALSE(origins.counts(kFront, SIGTERM, seconds(109)));
  EXPECT_FALSE(origins.counts(kEngine, SIGTERM, seconds(111)));
  EXPECT_TRUE(origins.counts(kFront, SIGTERM, seconds(112)));
}

TEST(CancelOrigins, AnInterruptAfterTheStepsIsTheUsers) {
  CancelOrigins origins;
  EXPECT_TRUE(origins.counts(kNodes, SIGTERM, seconds(100)));
  EXPECT_TRUE(origins.counts(kFront, SIGINT, seconds(105)));
}

}  // namespace
}  // namespace dlaunch
