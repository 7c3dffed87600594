#include "launch/session/node_events.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

const WallTime kTime{std::chrono::seconds(1'800'000'000)};

TEST(NodeEvents, EachRankThatHasStartedIsAnEvent) {
  NodeClock clock;
  const auto events = events_of(
      wire::RanksStarted{Attempt(1), {{Rank(0), 10, kTime}, {Rank(3), 11, kTime}}}, clock);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1], Event(event::RankStarted{Attempt(1), Rank(3), 11, kTime}));
}

TEST(NodeEvents, AnEndCarriesTheErrorOfItsNodesClock) {
  NodeClock clock;  // nothing is known of it
  const Event event =
      event_of(wire::RankExited{Attempt(1), Rank(3), {false, 3, false}, kTime, true}, clock);
  EXPECT_EQ(std::get<event::RankExited>(event).clock_error, NodeClock::kUnknown);
  clock.is_ours();
  const Event ours = event_of(wire::RankExited{Attempt(1), Rank(3), {}, kTime, false}, clock);
  EXPECT_EQ(std::get<event::RankExited>(ours).clock_error.count(), 0);
  EXPECT_EQ(std::get<event::RankExited>(ours).at, kTime);
}

TEST(NodeEvents, WhatANodeSaysOfItselfNamesIt) {
  EXPECT_EQ(event_of(NodeId(4), wire::Facts{{}, Attempt(2)}),
            Event(event::NodeReady{NodeId(4), Attempt(2)}));
  EXPECT_EQ(event_of(NodeId(4), wire::AttemptEnded{Attempt(2), 7}),
            Event(event::NodeEmpty{Attempt(2), NodeId(4), 7}));
}

}  // namespace
}  // namespace dlaunch
