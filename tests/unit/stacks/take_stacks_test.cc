#include "node/stacks/take_stacks.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/clock.h"
#include "stack_builder.h"
#include "wire/value.h"

namespace dlaunch {
namespace {

TEST(TakeStacks, EqualThreadsBecomeOneButTheMainThreadStaysByItself) {
  ProcessStack process;
  process.pid = 1;
  for (const std::int32_t id : {1, 2, 3}) process.threads.push_back({id, "", "S", "", {}, 1});
  process.threads.push_back({4, "", "R", "", {}, 1});
  join_equal_threads(process);
  ASSERT_EQ(process.threads.size(), 3U);
  EXPECT_EQ(process.threads[0].count, 1U);
  EXPECT_EQ(process.threads[1].id, 2);
  EXPECT_EQ(process.threads[1].count, 2U);
  EXPECT_EQ(process.threads[2].state, "R");
}

TEST(TakeStacks, AnAnswerThatIsTooLargeKeepsMainThreadsAndFits) {
  std::vector<RankStacks> ranks;
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    ranks.push_back(standing(rank, "", {python("f", "a.py", 1)}));
    for (std::int32_t thread = 0; thread < 200; ++thread) {
      std::vector<StackFrame> frames(kMostStackFrames,
                                     python(std::string(100, 'f'), std::string(100, 'p'), 7));
      ranks.back().processes[0].threads.push_back({thread + 2, "", "S", "", frames, 1});
    }
  }
  trim_stacks(ranks, kMostStackBytes);
  for (const RankStacks& rank : ranks) {
    ASSERT_FALSE(rank.processes.empty());
    EXPECT_EQ(rank.processes[0].threads[0].frames[0].function, "f");
    EXPECT_THAT(rank.remarks.back(), testing::HasSubstr("threads left out"));
  }
  EXPECT_LT(wire::encode_value(wire::StacksTaken{Attempt(0), 1, "", ranks}).size(),
            std::size_t{1} << 20);
}

TEST(TakeStacks, ThisProcessAndOneThatHasEnded) {
  const auto taken = take_stacks(
      {{{Rank(0), ::getpid()}, {Rank(1), 0}}, "", "", monotonic_now() + std::chrono::seconds(2)});
  ASSERT_EQ(taken.size(), 2U);
  ASSERT_FALSE(taken[0].processes.empty());
  EXPECT_EQ(taken[0].processes[0].pid, ::getpid());
  EXPECT_EQ(taken[0].processes[0].threads[0].state, "R");
  EXPECT_THAT(taken[0].processes[0].command, testing::HasSubstr("test_stacks"));
  EXPECT_TRUE(taken[1].processes.empty());
}

}  // namespace
}  // namespace dlaunch
