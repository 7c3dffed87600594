#include "launch/session/node_clock.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

const WallTime kStart{std::chrono::seconds(1'800'000'000)};

/// Our heartbeat leaves at `sent` (both our clocks are 0 at kStart) and arrives after `there`; the
/// node answers after `held`, and the answer arrives after `back`.
void exchange(NodeClock& clock, nanoseconds sent, nanoseconds there, nanoseconds held,
              nanoseconds back, nanoseconds offset) {
  wire::Heartbeat beat;
  beat.at = kStart + sent + there + held + offset;
  beat.echo = static_cast<std::uint64_t>(sent.count());
  beat.held = static_cast<std::uint64_t>(held.count());
  const nanoseconds now = sent + there + held + back;
  clock.add(beat, now, kStart + now);
}

TEST(NodeClock, KnowsNothingAtFirst) {
  NodeClock clock;
  EXPECT_EQ(clock.error(), NodeClock::kUnknown);
  EXPECT_EQ(clock.corrected(kStart), kStart);
  clock.is_ours();
  EXPECT_EQ(clock.error(), nanoseconds(0));
}

TEST(NodeClock, TheTruthIsWithinTheErrorWhicheverWayIsSlow) {
  for (const auto& [there, back] : {std::pair{1, 99}, {50, 50}, {99, 1}}) {
    NodeClock clock;
    exchange(clock, seconds(1), milliseconds(there), milliseconds(700), milliseconds(back),
             seconds(-3));
    EXPECT_LE(std::chrono::abs(clock.offset() - seconds(-3)), clock.error());
    EXPECT_LE(clock.error(), milliseconds(51));
  }
}

TEST(NodeClock, TheShortestWayCounts) {
  NodeClock clock;
  exchange(clock, seconds(1), milliseconds(1), seconds(1), milliseconds(1), seconds(5));
  exchange(clock, seconds(3), milliseconds(300), seconds(1), milliseconds(10), seconds(5));
  EXPECT_EQ(clock.offset(), seconds(5));
  EXPECT_LT(clock.error(), milliseconds(5));
}

TEST(NodeClock, AClockThatWasSetIsMeasuredAfresh) {
  NodeClock clock;
  exchange(clock, seconds(1), milliseconds(1), seconds(1), milliseconds(1), seconds(5));
  exchange(clock, seconds(3), milliseconds(30), seconds(1), milliseconds(30), seconds(0));
  EXPECT_EQ(clock.offset(), seconds(0));
}

TEST(NodeClock, OldSamplesAreTrustedLess) {
  NodeClock clock;
  exchange(clock, seconds(1), milliseconds(1), seconds(0), milliseconds(1), seconds(5));
  for (int i = 0; i < 16; ++i)
    exchange(clock, seconds(100 + i), milliseconds(4), seconds(0), milliseconds(4), seconds(5));
  EXPECT_EQ(clock.offset(), seconds(5));
  EXPECT_GE(clock.error(), milliseconds(4));
}

TEST(NodeClock, WhatCannotBeTrueIsIgnored) {
  NodeClock clock;
  clock.add({kStart, 1, 0, 0}, seconds(1), kStart);  // no echo
  clock.add({kStart, 1, 5'000'000'000, 0}, seconds(1), kStart);
  clock.add({kStart, 1, 1, ~std::uint64_t{0}}, seconds(1), kStart);
  clock.add({kStart, 1, ~std::uint64_t{0}, 0}, seconds(1), kStart);
  clock.add({kStart, 1, 500'000'000, 2'000'000'000}, seconds(1), kStart);
  EXPECT_EQ(clock.error(), NodeClock::kUnknown);
}

TEST(NodeClock, TheOrderOnTheNodeIsKept) {
  NodeClock clock;
  exchange(clock, seconds(1), milliseconds(200), seconds(0), milliseconds(0), seconds(0));
  const WallTime first = clock.corrected(kStart + seconds(10));
  exchange(clock, seconds(2), milliseconds(0), seconds(0), milliseconds(1), seconds(0));
  // The better measurement would put this one before the first.
  const WallTime second = clock.corrected(kStart + seconds(10) + nanoseconds(1));
  EXPECT_GT(second, first);
  EXPECT_EQ(clock.corrected(kStart + seconds(10) + nanoseconds(1)), second);
}

}  // namespace
}  // namespace dlaunch
