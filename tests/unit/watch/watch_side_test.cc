#include "launch/watch/watch_side.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Two nodes of two ranks each. The run begins at 100 s.
class WatchSideTest : public testing::Test {
 protected:
  WatchSideTest() {
    plan_.attempt = Attempt(1);
    plan_.nodes.resize(2);
    for (std::uint32_t node = 0; node < 2; ++node) {
      plan_.nodes[node].id = NodeId(10 + node);
      plan_.nodes[node].name = "node" + std::to_string(node);
    }
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      plan_.ranks.emplace_back().rank = Rank(rank);
      plan_.ranks.back().node = NodeRank(rank / 2);
    }
    side_.begin(plan_, at(0));
  }

  static MonotonicTime at(std::int64_t ms) { return seconds(100) + milliseconds(ms); }
  void say(std::uint32_t node, std::vector<RankPulse> ranks, std::int64_t ms,
           Attempt attempt = Attempt(1)) {
    side_.on(NodeId(10 + node), {attempt, {}, std::move(ranks), {}}, at(ms));
  }
  static RankPulse pulse(std::uint32_t rank, std::uint64_t cpu_ms, std::uint32_t quiet_ms = 0) {
    RankPulse one;
    one.rank = Rank(rank);
    one.cpu_ms = cpu_ms;
    one.quiet_ms = quiet_ms;
    one.processes = 1;
    return one;
  }

  LaunchPlan plan_;
  WatchSide side_{true, {"loss"}};
};

TEST_F(WatchSideTest, AgesGoOnBetweenPulses) {
  say(0, {pulse(1, 0, 300)}, 1000);
  const StatusReply reply = side_.status(at(3000));
  ASSERT_EQ(reply.ranks.size(), 4U);
  EXPECT_EQ(reply.ranks[1].pulse.quiet_ms, 2300U);
  EXPECT_EQ(reply.ranks[0].pulse.quiet_ms, 3000U) << "nothing heard: since the start";
  EXPECT_EQ(reply.nodes[0].silent_ms, 2000U);
  EXPECT_EQ(reply.nodes[1].silent_ms, 3000U);
  EXPECT_EQ(reply.attempt_ms, 3000U);
  EXPECT_EQ(reply.metrics, std::vector<std::string>{"loss"});
}

TEST_F(WatchSideTest, AnAgentSpeaksForItsOwnRanksOnly) {
  say(0, {pulse(2, 7), pulse(99, 7)}, 1000);
  say(1, {pulse(2, 5)}, 1000, Attempt(0));
  side_.on(NodeId(77), {Attempt(1), {}, {pulse(2, 7)}, {}}, at(1000));
  EXPECT_EQ(side_.status(at(1000)).ranks[2].pulse.cpu_ms, 0U);
  say(1, {pulse(2, 5)}, 1000);
  EXPECT_EQ(side_.status(at(1000)).ranks[2].pulse.cpu_ms, 5U);
}

TEST_F(WatchSideTest, ProcessorTimeIsMeasuredOverTheLastSeconds) {
  for (int second = 1; second <= 20; ++second)
    say(0, {pulse(0, static_cast<std::uint64_t>(1500 * second))}, 1000 * second);
  EXPECT_EQ(side_.status(at(20'000)).ranks[0].cpu_percent, 150U);
  // It stops to use any; pulses no longer mention it.
  for (int second = 21; second <= 33; ++second) say(0, {}, 1000 * second);
  EXPECT_EQ(side_.status(at(33'000)).ranks[0].cpu_percent, 0U);
}

TEST_F(WatchSideTest, EventsTellHowRanksEnd) {
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    side_.tell(event::RankStarted{Attempt(1), Rank(rank), 1, {}});
  ExitStatus failed;
  failed.value = 3;
  side_.tell(event::RankExited{Attempt(1), Rank(0), failed, {}});
  side_.tell(event::RankExited{Attempt(0), Rank(1), failed, {}});
  event::NodeLost lost;
  lost.node = NodeId(11);
  side_.tell(lost);
  const StatusReply reply = side_.status(at(0));
  EXPECT_EQ(reply.ranks[0].end, "exited with code 3");
  EXPECT_EQ(reply.ranks[1].end, "") << "of an earlier attempt";
  EXPECT_TRUE(reply.ranks[1].started);
  EXPECT_EQ(reply.ranks[3].end, "lost with its node");
}

TEST_F(WatchSideTest, TheStateFollowsTheRun) {
  EXPECT_EQ(WatchSide(true, {}).status(at(0)).state, "preparing");
  EXPECT_EQ(side_.status(at(0)).state, "running");
  side_.set_stopping();
  EXPECT_EQ(side_.status(at(0)).state, "stopping");
  side_.tell(action::Restart{});
  EXPECT_EQ(side_.status(at(0)).state, "waiting to restart");
  plan_.attempt = Attempt(2);
  side_.begin(plan_, at(5000));
  const StatusReply reply = side_.status(at(6000));
  EXPECT_EQ(reply.state, "running");
  EXPECT_EQ(reply.attempt, 2U);
  EXPECT_EQ(reply.attempt_ms, 1000U);
  EXPECT_FALSE(reply.ranks[0].started);
}

}  // namespace
}  // namespace dlaunch
