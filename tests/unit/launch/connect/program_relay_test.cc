#include "launch/connect/program_relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using std::chrono::seconds;
using Feed = ProgramRelay::Feed;

constexpr MonotonicTime kNow = seconds(777);
constexpr MonotonicTime kUntil = kNow + seconds(7);

Feed by_launcher(std::uint32_t node) {
  return {NodeId(node), std::nullopt};
}
Feed by(std::uint32_t node, std::uint32_t holder) {
  return {NodeId(node), NodeId(holder)};
}
void lack(ProgramRelay& relay, std::uint32_t first, std::uint32_t end) {
  for (std::uint32_t i = first; i < end; ++i) relay.lacks(NodeId(i), kUntil);
}
void get(ProgramRelay& relay, std::uint32_t node) {
  relay.over(NodeId(node), true);
  relay.has(NodeId(node));
}

TEST(ProgramRelay, EachLevelIsFourTimesAsLarge) {
  ProgramRelay relay;
  constexpr std::uint32_t kNodes = 64;
  lack(relay, 0, kNodes);
  std::size_t from_launcher = 0;
  std::vector<std::size_t> levels;
  for (auto feeds = relay.next(kNow); !feeds.empty(); feeds = relay.next(kNow)) {
    levels.push_back(feeds.size());
    for (const Feed& feed : feeds) {
      from_launcher += feed.from ? 0 : 1;
      get(relay, feed.node.value);
    }
  }
  EXPECT_THAT(levels, testing::ElementsAre(2, 6, 24, 32));
  EXPECT_EQ(from_launcher, ProgramRelay::kSeeds);
  EXPECT_EQ(relay.deadline(), std::nullopt);
}

TEST(ProgramRelay, AHolderTakesAnotherGuestWhenOneIsThrough) {
  ProgramRelay relay;
  relay.has(NodeId(9));
  lack(relay, 0, 5);
  EXPECT_THAT(relay.next(kNow), testing::ElementsAre(by(0, 9), by(1, 9), by(2, 9)));
  EXPECT_THAT(relay.next(kNow), testing::IsEmpty());
  relay.over(NodeId(1), false);  // it was given up
  EXPECT_THAT(relay.next(kNow), testing::ElementsAre(by(3, 9)));
  relay.over(NodeId(77), true);  // never lacked it
  EXPECT_THAT(relay.next(kNow), testing::IsEmpty());
  EXPECT_EQ(relay.deadline(), kUntil);
}

TEST(ProgramRelay, WhoHasWaitedLongEnoughGetsItFromTheLauncher) {
  ProgramRelay relay;
  lack(relay, 0, 3);
  EXPECT_THAT(relay.next(kNow), testing::ElementsAre(by_launcher(0), by_launcher(1)));
  EXPECT_THAT(relay.next(kUntil - std::chrono::nanoseconds(1)), testing::IsEmpty());
  EXPECT_THAT(relay.next(kUntil), testing::ElementsAre(by_launcher(2)));
}

TEST(ProgramRelay, AHolderThatFailsIsNotAskedAgain) {
  ProgramRelay relay;
  relay.has(NodeId(8));
  relay.has(NodeId(9));
  lack(relay, 0, 2);
  EXPECT_THAT(relay.next(kNow), testing::ElementsAre(by(0, 8), by(1, 9)));
  relay.failed(NodeId(0), true);  // the launcher feeds it
  lack(relay, 2, 4);
  EXPECT_THAT(relay.next(kNow), testing::ElementsAre(by(2, 9), by(3, 9)));
}

TEST(ProgramRelay, WhereNodesCannotReachEachOtherTheLauncherFeedsAll) {
  ProgramRelay relay;
  for (std::uint32_t holder = 100; holder < 103; ++holder) relay.has(NodeId(holder));
  lack(relay, 0, 20);
  const auto feeds = relay.next(kNow);
  ASSERT_EQ(feeds.size(), 9U);
  for (const Feed& feed : feeds) relay.failed(feed.node, true);
  const auto rest = relay.next(kNow);
  ASSERT_EQ(rest.size(), 11U);
  for (const Feed& feed : rest) EXPECT_EQ(feed.from, std::nullopt);
}

TEST(ProgramRelay, AFewThatCannotReachOthersDoNotStopIt) {
  ProgramRelay relay;
  lack(relay, 0, 40);
  std::size_t failures = 0;
  for (auto feeds = relay.next(kNow); !feeds.empty(); feeds = relay.next(kNow)) {
    for (const Feed& feed : feeds) {
      if (feed.from && feed.node.value % 5 == 0) {
        relay.failed(feed.node, true);
        ++failures;
      }
      get(relay, feed.node.value);
    }
  }
  EXPECT_GE(failures, 6U);
  lack(relay, 40, 41);
  ASSERT_EQ(relay.next(kNow).size(), 1U);
}

TEST(ProgramRelay, WhatIsTheGuestsFaultIsNotTheHolders) {
  ProgramRelay relay;
  relay.has(NodeId(9));
  for (std::uint32_t i = 0; i < 5; ++i) {
    relay.lacks(NodeId(i), kUntil);
    EXPECT_THAT(relay.next(kNow), testing::ElementsAre(by(i, 9)));
    relay.failed(NodeId(i), false);
  }
}

TEST(ProgramRelay, AHolderThatIsGoneIsNotAsked) {
  ProgramRelay relay;
  relay.has(NodeId(8));
  relay.has(NodeId(9));
  relay.gone(NodeId(8));
  lack(relay, 0, 2);
  EXPECT_THAT(relay.next(kNow), testing::ElementsAre(by(0, 9), by(1, 9)));
}

TEST(ProgramRelay, WhereNoneHasAnAddressTheLauncherFeedsAll) {
  ProgramRelay relay;
  relay.has(NodeId(9));
  lack(relay, 0, 20);
  for (const Feed& feed : relay.next(kNow)) {
    relay.cannot_feed(*feed.from);
    relay.failed(feed.node, false);
  }
  EXPECT_EQ(relay.next(kNow).size(), 17U);
}

TEST(ProgramRelay, ThreeWithoutAnAddressDoNotStopIt) {
  ProgramRelay relay;
  for (std::uint32_t holder = 100; holder < 104; ++holder) relay.has(NodeId(holder));
  for (std::uint32_t holder = 100; holder < 103; ++holder) relay.cannot_feed(NodeId(holder));
  lack(relay, 0, 1);
  EXPECT_THAT(relay.next(kNow), testing::ElementsAre(by(0, 103)));
}

TEST(ProgramRelay, WhileItIsClosedTheLauncherFeedsAll) {
  ProgramRelay relay;
  relay.has(NodeId(9));
  relay.close(true);
  lack(relay, 0, 1);
  EXPECT_THAT(relay.next(kNow), testing::ElementsAre(by_launcher(0)));
  relay.close(false);
  lack(relay, 1, 2);
  EXPECT_THAT(relay.next(kNow), testing::ElementsAre(by(1, 9)));
}

TEST(ProgramRelay, WhoLacksItAgainTakesNoSecondPlace) {
  ProgramRelay relay;
  relay.has(NodeId(9));
  for (std::size_t i = 0; i <= ProgramRelay::kGuests; ++i) {
    lack(relay, 0, 1);
    EXPECT_THAT(relay.next(kNow), testing::ElementsAre(by(0, 9)));
  }
}

}  // namespace
}  // namespace dlaunch
