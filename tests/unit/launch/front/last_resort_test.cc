#include "launch/front/last_resort.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

LastResort::Step after(LastResort& resort, std::uint32_t seconds) {
  LastResort::Step step;
  for (std::uint32_t i = 0; i < seconds; ++i) step = resort.second();
  return step;
}

TEST(LastResort, DoesNothingBeforeACancellation) {
  LastResort resort;
  const LastResort::Step step = after(resort, 1000);
  EXPECT_FALSE(step.ask || step.tell || step.kill || step.leave);
}

TEST(LastResort, TellsOnceThatTheEngineDoesNotAnswerTheFirstCancellation) {
  LastResort resort;
  resort.cancelled();
  EXPECT_FALSE(after(resort, LastResort::kTellAfter - 1).tell);
  EXPECT_TRUE(resort.second().tell);
  for (int i = 0; i < 1000; ++i) {
    const LastResort::Step step = resort.second();
    EXPECT_TRUE(step.ask);
    EXPECT_FALSE(step.tell || step.kill || step.leave);
  }
}

TEST(LastResort, AnEngineThatAnswersIsWaitedForHoweverLongItTakes) {
  LastResort resort;
  resort.cancelled();
  resort.cancelled();
  for (int i = 0; i < 1000; ++i) {
    const LastResort::Step step = resort.second();
    EXPECT_FALSE(step.tell || step.leave);
    resort.heard();
  }
}

TEST(LastResort, KillsAfterTheSecondCancellationAndLeavesASilentEngine) {
  LastResort resort;
  resort.cancelled();
  (void)after(resort, 100);
  resort.cancelled();
  EXPECT_FALSE(after(resort, LastResort::kKillAfter - 1).kill);
  EXPECT_TRUE(resort.second().kill);
  EXPECT_FALSE(after(resort, LastResort::kLeaveAfter - LastResort::kKillAfter - 1).leave);
  EXPECT_TRUE(resort.second().leave);
}

}  // namespace
}  // namespace dlaunch
