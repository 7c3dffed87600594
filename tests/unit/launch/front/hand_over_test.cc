#include "launch/front/hand_over.h"

#include <gtest/gtest.h>

#include <unistd.h>

namespace dlaunch {
namespace {

TEST(HandOver, ComesOnceWhenAllRanksHaveStarted) {
  HandOver hand_over(true);
  EXPECT_FALSE(hand_over.rank_started(Attempt(0), 2));
  EXPECT_TRUE(hand_over.rank_started(Attempt(0), 2));
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(hand_over.rank_started(Attempt(1), 2));
}

TEST(HandOver, AnAttemptThatWasNeverCompleteDoesNotCount) {
  HandOver hand_over(true);
  EXPECT_FALSE(hand_over.rank_started(Attempt(0), 2));
  EXPECT_FALSE(hand_over.rank_started(Attempt(1), 2));
  EXPECT_TRUE(hand_over.rank_started(Attempt(1), 2));
}

TEST(HandOver, NeverComesUnasked) {
  HandOver hand_over(false);
  EXPECT_FALSE(hand_over.rank_started(Attempt(0), 1));
  hand_over.before_fork();
  hand_over.agents_forked();
  EXPECT_EQ(hand_over.agent_errors(), "");
}

TEST(HandOver, KeepsWhatAgentsWriteToStderr) {
  HandOver hand_over(true);
  hand_over.before_fork();
  ASSERT_EQ(::write(STDERR_FILENO, "fault\n", 6), 6);
  hand_over.agents_forked();
  EXPECT_EQ(hand_over.agent_errors(), "fault\n");
}

}  // namespace
}  // namespace dlaunch
