// What a keeper lends, when it connects again, and when it is over: times are arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/keep/keep_protocol.h"
#include "launch/keep/kept_nodes.h"
#include "launch/keep/kept_table.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using State = KeptNode::State;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr ClientId kRun = 1;
constexpr ClientId kOther = 2;
constexpr std::size_t kFirst = 0;
constexpr std::size_t kSecond = 1;

struct KeptNodesTest : testing::Test {
  KeptNodesTest() {
    nodes.add("gpu1", "ssh gpu1", now);
    nodes.add("gpu2", "ssh gpu2", now);
    nodes.connected(kFirst, now);
    nodes.connected(kSecond, now);
    nodes.begin(now);
  }
  void lend(std::size_t node, ClientId client) {
    ASSERT_TRUE(nodes.want(nodes.nodes()[node].key, client, "run-1", now));
    ASSERT_TRUE(nodes.lent(node, now));
  }
  [[nodiscard]] State state(std::size_t node) const { return nodes.nodes()[node].state; }

  MonotonicTime now{seconds(100)};
  KeptNodes nodes{std::chrono::hours(1), now};
};

TEST_F(KeptNodesTest, LendsAnIdleNodeOnceAndTakesItBack) {
  lend(kFirst, kRun);
  const auto refused = nodes.want("ssh gpu1", kOther, "run-2", now);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_known);
  EXPECT_EQ(refused.error().why, "gpu1 is used by run run-1");
  EXPECT_FALSE(nodes.given_back(kFirst, kOther, now)) << "it is not the other's";
  EXPECT_TRUE(nodes.given_back(kFirst, kRun, now));
  EXPECT_EQ(state(kFirst), State::idle);
  EXPECT_FALSE(nodes.given_back(kFirst, kRun, now)) << "once";
}

TEST_F(KeptNodesTest, DoesNotKnowAnotherKey) {
  const auto refused = nodes.want("ssh gpu3", kRun, "run-1", now);
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().is_known);
  EXPECT_FALSE(nodes.has("ssh gpu3"));
  EXPECT_TRUE(nodes.has("ssh gpu2"));
}

TEST_F(KeptNodesTest, ARunThatEndsWithoutGivingBackLosesTheNode) {
  lend(kFirst, kRun);
  lend(kSecond, kOther);
  EXPECT_THAT(nodes.client_gone(kRun, now), ElementsAre(kFirst));
  EXPECT_EQ(state(kFirst), State::waiting);
  EXPECT_EQ(state(kSecond), State::lent);
  EXPECT_THAT(nodes.start(now), ElementsAre(kFirst)) << "it is connected at once";
}

TEST_F(KeptNodesTest, ARunThatGoesBeforeItHasTheNodeLeavesItIdle) {
  ASSERT_TRUE(nodes.want("ssh gpu1", kRun, "run-1", now));
  EXPECT_THAT(nodes.client_gone(kRun, now), IsEmpty());
  EXPECT_FALSE(nodes.lent(kFirst, now));
  EXPECT_EQ(state(kFirst), State::idle);
}

TEST_F(KeptNodesTest, TriesAgainAfterGrowingPauses) {
  nodes.lost(kFirst, "no route", now);
  EXPECT_THAT(nodes.start(now), ElementsAre(kFirst));
  for (const milliseconds pause : {milliseconds(500), milliseconds(1000), milliseconds(2000)}) {
    nodes.lost(kFirst, "no route", now);
    EXPECT_THAT(nodes.start(now + pause - milliseconds(1)), IsEmpty());
    EXPECT_EQ(nodes.next(), now + pause);
    EXPECT_THAT(nodes.start(now + pause), ElementsAre(kFirst));
  }
  const auto refused = nodes.want("ssh gpu1", kRun, "run-1", now);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().why, "gpu1 is being reconnected (no route)");
  for (int i = 0; i < 40; ++i) {
    nodes.lost(kFirst, "no route", now);
    (void)nodes.start(now + seconds(30));
    EXPECT_EQ(state(kFirst), State::connecting) << "at most 30 s";
  }
  nodes.connected(kFirst, now);
  nodes.lost(kFirst, "cut", now);
  EXPECT_THAT(nodes.start(now), ElementsAre(kFirst)) << "the first try is immediate again";
}

TEST_F(KeptNodesTest, GivesUpWhatIsFreeNowAndTheRestWhenItIs) {
  lend(kSecond, kRun);
  const KeptNodes::Farewell farewell = nodes.give_up({}, now);
  EXPECT_THAT(farewell.gone, ElementsAre(kFirst));
  EXPECT_EQ(farewell.hosts, 2U);
  EXPECT_EQ(farewell.in_use, 1U);
  EXPECT_FALSE(nodes.is_over(now));
  EXPECT_TRUE(nodes.given_back(kSecond, kRun, now));
  EXPECT_EQ(state(kSecond), State::gone);
  EXPECT_TRUE(nodes.is_over(now));
}

TEST_F(KeptNodesTest, GivesUpNamedHostsOnly) {
  const KeptNodes::Farewell farewell = nodes.give_up({"gpu2", "gpu9"}, now);
  EXPECT_THAT(farewell.gone, ElementsAre(kSecond));
  EXPECT_EQ(farewell.hosts, 1U);
  EXPECT_FALSE(nodes.is_over(now));
  nodes.lost(kSecond, "its connection ended", now);
  EXPECT_THAT(nodes.start(now), IsEmpty()) << "a node that was given up is not connected";
}

TEST_F(KeptNodesTest, ANodeThatGoesIsNotConnectedWhenItIsLost) {
  lend(kFirst, kRun);
  (void)nodes.give_up({}, now);
  EXPECT_THAT(nodes.client_gone(kRun, now), ElementsAre(kFirst));
  EXPECT_EQ(state(kFirst), State::gone);
  EXPECT_TRUE(nodes.is_over(now));
}

TEST_F(KeptNodesTest, AHostThatIsWithARunForAWhileGetsAnotherAgent) {
  lend(kFirst, kRun);
  EXPECT_THAT(nodes.add_beside(now), IsEmpty()) << "a short run is over before";
  EXPECT_EQ(nodes.next(), now + seconds(2));
  now += seconds(2);
  EXPECT_THAT(nodes.add_beside(now), ElementsAre(kFirst));
  EXPECT_THAT(nodes.add_beside(now), IsEmpty()) << "one at a time";
  constexpr std::size_t kThird = 2;
  EXPECT_STREQ(kept_state_text(nodes.nodes()[kThird]), "connecting");
  EXPECT_THAT(nodes.start(now), ElementsAre(kThird));
  EXPECT_EQ(nodes.want("ssh gpu1", kOther, "run-2", now).error().why, "gpu1 is used by run run-1");
  nodes.connected(kThird, now);
  EXPECT_THAT(nodes.by_host(), ElementsAre(kFirst, kThird, kSecond));
  lend(kThird, kOther);
  EXPECT_TRUE(nodes.given_back(kFirst, kRun, now));
  EXPECT_THAT(nodes.add_beside(now + seconds(2)), IsEmpty()) << "one is idle";
  const KeptNodes::Farewell farewell = nodes.give_up({"gpu1"}, now);
  EXPECT_THAT(farewell.gone, ElementsAre(kFirst));
  EXPECT_EQ(farewell.hosts, 1U);
  EXPECT_EQ(farewell.in_use, 1U);
  EXPECT_THAT(nodes.add_beside(now + seconds(2)), IsEmpty()) << "it is being given up";
}

TEST_F(KeptNodesTest, AnotherAgentThatCannotConnectIsTriedOnlyWhereNoneIsFree) {
  lend(kFirst, kRun);
  now += seconds(2);
  (void)nodes.add_beside(now);
  constexpr std::size_t kThird = 2;
  EXPECT_THAT(nodes.start(now), ElementsAre(kThird));
  nodes.lost(kThird, "too many sessions", now);
  EXPECT_THAT(nodes.start(now), ElementsAre(kThird)) << "at once";
  nodes.lost(kThird, "too many sessions", now);
  EXPECT_TRUE(nodes.given_back(kFirst, kRun, now));
  EXPECT_THAT(nodes.start(now + std::chrono::minutes(10)), IsEmpty());
  lend(kFirst, kRun);
  EXPECT_THAT(nodes.start(now + std::chrono::minutes(10)), ElementsAre(kThird));
}

TEST_F(KeptNodesTest, AHostGetsAtMostFourAgents) {
  for (std::size_t agents = 1; agents <= 4; ++agents) {
    lend(agents == 1 ? kFirst : agents, kRun);
    now += seconds(2);
    EXPECT_EQ(nodes.add_beside(now).size(), agents < 4 ? 1U : 0U);
    for (const std::size_t i : nodes.start(now)) nodes.connected(i, now);
  }
}

TEST_F(KeptNodesTest, TheIdleTimeCountsFromTheLastRun) {
  lend(kFirst, kRun);
  EXPECT_FALSE(nodes.is_over(now + std::chrono::hours(5))) << "a run has a node";
  EXPECT_EQ(nodes.idle_end(), std::nullopt);
  EXPECT_TRUE(nodes.given_back(kFirst, kRun, now + std::chrono::hours(5)));
  EXPECT_FALSE(nodes.is_over(now + std::chrono::hours(6) - seconds(1)));
  EXPECT_TRUE(nodes.is_over(now + std::chrono::hours(6)));
  EXPECT_EQ(nodes.next(), now + std::chrono::hours(6));
}

TEST(KeptUseText, SaysHowManyAndWhyNotTheOthers) {
  EXPECT_EQ(kept_use_text({.wanted = 4}), "") << "none is kept";
  EXPECT_EQ(kept_use_text({.wanted = 1, .lent = 1}), "uses 1 kept node");
  EXPECT_EQ(kept_use_text({.wanted = 8, .lent = 8}), "uses 8 kept nodes");
  EXPECT_EQ(
      kept_use_text({.wanted = 2, .lent = 1, .refused = {"gpu2 is used by run a"}}),
      "uses kept connections for 1 of 2 nodes and connects to the others: gpu2 is used by run a");
  const std::string many =
      kept_use_text({.wanted = 9, .lent = 0, .refused = {"a", "b", "c", "d", "e", "f"}});
  EXPECT_THAT(many, HasSubstr("a; b; c; d; and 2 more"));
  EXPECT_EQ(kept_use_text({.wanted = 1, .refused = {"gpu1 is kept"}, .unusable = "why"}),
            "the kept nodes are not used: why");
  EXPECT_THAT(kept_use_text({.wanted = 1, .is_other_build = true}), HasSubstr("another build"));
}

TEST(KeepProtocol, EveryBuildReadsTheGreeting) {
  EXPECT_EQ(read_keeper_greeting(keeper_greeting("0a1b")), "0a1b");
  EXPECT_EQ(read_keeper_greeting("something else"), std::nullopt);
}

TEST(KeepProtocol, MessagesArriveAsTheyWereSent) {
  const auto wanted = wire::decode_variant<ToKeeper>(
      wire::encode_value(ToKeeper(WantNodes{"run", true, 64, {"a", "b"}})));
  ASSERT_TRUE(wanted);
  EXPECT_THAT(std::get<WantNodes>(*wanted).keys, ElementsAre("a", "b"));
  KeptList list;
  list.nodes.push_back({"gpu1", "idle", "", 1500, "", true, 205, {"GPU 3: fell off the bus"}});
  const auto read = wire::decode_variant<FromKeeper>(wire::encode_value(FromKeeper(list)));
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<KeptList>(*read).nodes.front().load_hundredths, 205U);
  EXPECT_FALSE(wire::decode_variant<ToKeeper>("go away"));
}

TEST(KeptTable, HasALineForEachNode) {
  KeptList list;
  list.pid = 7;
  list.left_ms = 60'000;
  list.nodes.push_back({"gpu1", "idle", "", 130'000, "", true, 205, {}});
  list.nodes.push_back({"gpu02", "in use", "20261126-a", 12'000, "", false, 0, {}});
  list.nodes.push_back({"gpu3", "reconnecting", "", 3'000, "no route", false, 0, {}});
  EXPECT_EQ(kept_table({list}),
            "HOST   STATE         FOR    LOAD  HEALTH\n"
            "gpu1   idle          2m10s  2.05  ok\n"
            "gpu02  in use        12.0s  -     run 20261126-a\n"
            "gpu3   reconnecting  3.0s   -     no route");
  EXPECT_THAT(kept_json({list}), HasSubstr(R"("host": "gpu1", "state": "idle", "for_s": 130)"));
  EXPECT_THAT(kept_json({list}), HasSubstr(R"("load": 2.05)"));
}

}  // namespace
}  // namespace dlaunch
