#include "supervise/node_return.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using namespace std::chrono_literals;

constexpr NodeId kNode{3};

LostNode lost(std::uint32_t node, std::string what = "gone") {
  return {NodeId{node}, std::move(what)};
}

std::vector<std::uint32_t> tried(NodeReturns& returns, MonotonicTime now) {
  std::vector<std::uint32_t> nodes;
  for (const NodeReturns::Try& one : returns.take_tries(now)) nodes.push_back(one.node.value);
  return nodes;
}

TEST(NodeReturns, NothingIsTriedThatIsNotWaitedFor) {
  NodeReturns returns(5min, 30s);
  returns.note_lost(lost(3), 10s);
  EXPECT_FALSE(returns.waits_for(kNode));
  EXPECT_TRUE(tried(returns, 1h).empty());
  EXPECT_EQ(returns.earliest(), std::nullopt);
}

TEST(NodeReturns, NothingIsTriedBeforeTheFence) {
  NodeReturns returns(5min, 30s);
  returns.note_lost(lost(3), 13s);
  returns.wait_for(kNode, 5s);
  EXPECT_EQ(returns.earliest(), MonotonicTime(13s));
  EXPECT_TRUE(tried(returns, 12s).empty());
  EXPECT_EQ(tried(returns, 13s), std::vector<std::uint32_t>{3});
  EXPECT_TRUE(returns.is_trying(kNode));
  EXPECT_EQ(returns.earliest(), MonotonicTime(13s + 90s)) << "of this try";
  EXPECT_TRUE(returns.overdue(5min + 12s).empty());
  EXPECT_EQ(returns.overdue(5min + 13s).size(), 1u) << "the limit counts from there";
}

TEST(NodeReturns, PausesDoubleUpToTheirMaximum) {
  NodeReturns returns(1h, 30s);
  returns.note_lost(lost(3), 0s);
  returns.wait_for(kNode, 0s);
  std::vector<MonotonicTime> pauses;
  MonotonicTime now{0};
  for (int i = 0; i < 7; ++i) {
    ASSERT_EQ(tried(returns, now).size(), 1u);
    returns.try_failed(kNode, "refused", now);
    pauses.push_back(*returns.earliest() - now);
    now = *returns.earliest();
  }
  EXPECT_EQ(pauses, (std::vector<MonotonicTime>{500ms, 1s, 2s, 4s, 8s, 8s, 8s}));
}

TEST(NodeReturns, TheLastTryHasTimeForALoginAndEndsTheWait) {
  NodeReturns returns(10s, 30s);
  returns.note_lost(lost(3, "no sign of life"), 0s);
  returns.wait_for(kNode, 0s);
  (void)returns.take_tries(0s);
  returns.try_failed(kNode, "refused", 7900ms);
  EXPECT_EQ(returns.earliest(), MonotonicTime(8s)) << "not half a second later";
  const auto tries = returns.take_tries(8s);
  ASSERT_EQ(tries.size(), 1u);
  EXPECT_EQ(tries[0].within, 2s);
  EXPECT_TRUE(returns.overdue(9s).empty());
  returns.try_failed(kNode, "timed out", 9900ms);
  const auto overdue = returns.overdue(9900ms);
  ASSERT_EQ(overdue.size(), 1u);
  EXPECT_EQ(overdue[0].lost, lost(3, "no sign of life"));
  EXPECT_EQ(overdue[0].last_words, "timed out");
  EXPECT_TRUE(tried(returns, 9900ms).empty());
}

TEST(NodeReturns, ATryTakesNoLongerThanItsOwnLimit) {
  NodeReturns returns(1h, 30s);
  returns.note_lost(lost(3), 0s);
  returns.wait_for(kNode, 0s);
  EXPECT_EQ(returns.take_tries(0s).front().within, 30s);
  EXPECT_TRUE(returns.overdue(59min).empty());
  EXPECT_EQ(returns.overdue(1h).size(), 1u) << "whether or not it has answered";
}

TEST(NodeReturns, AConnectedNodeThatTellsNothingIsTriedAgain) {
  NodeReturns returns(Duration::max(), 30s);
  returns.note_lost(lost(3), 0s);
  returns.wait_for(kNode, 0s);
  ASSERT_EQ(tried(returns, 0s).size(), 1u);
  EXPECT_EQ(returns.earliest(), MonotonicTime(90s)) << "connecting, its facts, its check";
  EXPECT_TRUE(returns.silent(89s).empty());
  EXPECT_EQ(returns.silent(90s), std::vector<NodeId>{kNode});
  returns.try_failed(kNode, "silent", 90s);
  EXPECT_TRUE(returns.silent(91s).empty());
  EXPECT_EQ(tried(returns, 91s).size(), 1u);
  returns.came_back(kNode);
  EXPECT_TRUE(returns.silent(1h).empty());
}

TEST(NodeReturns, WhoIsLostAgainHasWhatIsLeftOfTheLimit) {
  NodeReturns returns(60s, 30s);
  returns.note_lost(lost(3), 0s);
  returns.wait_for(kNode, 0s);
  (void)returns.take_tries(0s);
  returns.came_back(kNode);
  EXPECT_FALSE(returns.waits_for(kNode));
  EXPECT_EQ(returns.earliest(), std::nullopt);
  returns.note_lost(lost(3, "gone again"), 40s);
  returns.wait_for(kNode, 40s);
  EXPECT_EQ(tried(returns, 40s + 500ms).size(), 1u);
  EXPECT_EQ(returns.overdue(60s).size(), 1u);
  returns.forget_all();
  EXPECT_TRUE(returns.overdue(1h).empty());
}

TEST(NodeReturns, WhoIsLostAgainIsTriedAfterAPause) {
  NodeReturns returns(5min, 30s);
  MonotonicTime now{0};
  for (const MonotonicTime pause : {0ms, 500ms, 1000ms}) {
    returns.note_lost(lost(3), now);
    returns.wait_for(kNode, now);
    EXPECT_EQ(returns.earliest(), now + pause);
    now += pause;
    EXPECT_EQ(tried(returns, now), std::vector<std::uint32_t>{3});
    returns.came_back(kNode);
  }
  now = 4min + 59s;
  returns.note_lost(lost(3), now + 500ms);
  returns.wait_for(kNode, now);
  EXPECT_EQ(returns.earliest(), now + 500ms)
      << "the limit leaves no time for a pause, the fence stays";
}

TEST(NodeReturns, SmallLimitsAreKept) {
  NodeReturns returns(1ms, 1ms);
  returns.note_lost(lost(3), 0s);
  returns.wait_for(kNode, 0s);
  const auto tries = returns.take_tries(0s);
  ASSERT_EQ(tries.size(), 1u);
  EXPECT_EQ(tries[0].within, 1ms);
  returns.try_failed(kNode, "", 0s);
  EXPECT_FALSE(returns.overdue(1ms).empty());
}

TEST(NodeReturns, TheLongestLimitDoesNotOverflow) {
  NodeReturns returns(Duration::max(), 30s);
  returns.note_lost(lost(3), 0s);
  returns.wait_for(kNode, 1h);
  EXPECT_EQ(returns.take_tries(1h).front().within, 30s);
  EXPECT_TRUE(returns.overdue(24h).empty());
}

}  // namespace
}  // namespace dlaunch
