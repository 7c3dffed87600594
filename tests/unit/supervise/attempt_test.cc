#include "supervise/attempt.h"

#include <chrono>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using How = RankEnd::How;
using State = AttemptProgress::NodeState;

AttemptProgress two_nodes() {
  return AttemptProgress({NodeId{0}, NodeId{7}, NodeId{7}});
}

RankEnd ended(How how) {
  RankEnd end;
  end.how = how;
  return end;
}

TEST(AttemptProgress, CountsRanksByNode) {
  AttemptProgress progress = two_nodes();
  EXPECT_EQ(progress.running(), 3u);
  EXPECT_EQ(progress.open_nodes(), 2u);
  EXPECT_EQ(progress.nodes(), (std::vector{NodeId{0}, NodeId{7}}));
  EXPECT_FALSE(progress.has_ranks(NodeId{1}));
  EXPECT_EQ(progress.running_on(NodeId{1}), 0u);
  EXPECT_FALSE(progress.is_open(NodeId{1}));
  EXPECT_EQ(progress.running_on(NodeId{7}), 2u);

  progress.note_end(Rank{1}, ended(How::exited));
  EXPECT_EQ(progress.running_on(NodeId{7}), 1u);
  EXPECT_FALSE(progress.is_running(Rank{1}));
  EXPECT_EQ(progress.running(), 2u);

  progress.close(NodeId{7}, State::lost);
  EXPECT_EQ(progress.running(), 1u);
  EXPECT_EQ(progress.open_nodes(), 1u);
  EXPECT_FALSE(progress.is_running(Rank{2}));
}

TEST(AttemptProgress, UnreportedEnds) {
  AttemptProgress progress = two_nodes();
  const WallTime at{std::chrono::seconds(1)};
  progress.note_start(Rank{0}, at);
  progress.note_start(Rank{99}, at);
  progress.note_end(Rank{1}, ended(How::exited));
  progress.close(NodeId{0}, State::empty);
  progress.close(NodeId{7}, State::lost);
  const std::vector<RankEnd> ends = progress.ends();
  EXPECT_EQ(ends[0].how, How::lost);  // it has started, and its end is unknown
  EXPECT_EQ(ends[1].how, How::exited);
  EXPECT_EQ(ends[2].how, How::lost);
}

TEST(AttemptProgress, WhatHadNotStartedOnAnEmptyNodeNeverDid) {
  AttemptProgress progress({NodeId{0}});
  progress.close(NodeId{0}, State::empty);
  EXPECT_EQ(progress.ends()[0].how, How::not_started);
}

TEST(AttemptProgress, TheFirstNewsOfAStartStays) {
  AttemptProgress progress({NodeId{0}});
  const WallTime at{std::chrono::seconds(1)};
  progress.note_start(Rank{0}, at);
  progress.note_start(Rank{0}, at + std::chrono::seconds(1));
  progress.note_end(Rank{0}, ended(How::exited));
  EXPECT_EQ(progress.ends()[0].started, at);
}

TEST(NodeWaits, InOrderAndWithoutClosedNodes) {
  AttemptProgress progress = two_nodes();
  NodeWaits waits;
  EXPECT_EQ(waits.earliest(), std::nullopt);
  waits.add({MonotonicTime(10), NodeId{7}});
  waits.add({MonotonicTime(20), NodeId{0}});
  EXPECT_EQ(waits.take_due(MonotonicTime(9)), std::nullopt);
  progress.close(NodeId{7}, State::empty);
  waits.forget_closed(progress);
  EXPECT_EQ(waits.earliest(), MonotonicTime(20));
  EXPECT_EQ(waits.take_due(MonotonicTime(20)), NodeId{0});
  EXPECT_EQ(waits.earliest(), std::nullopt);
}

}  // namespace
}  // namespace dlaunch
