// How the end of a rank is classified, from what was seen of it.
#include "node/mpi/wire_up.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

constexpr WireUp kWell{true, true, true, std::nullopt, std::nullopt, false};
const ExitStatus kZero;

WireUp in_world_of(std::uint32_t size) {
  WireUp seen = kWell;
  seen.other_world = size;
  return seen;
}

TEST(WireUp, WhatIsNoSuccess) {
  EXPECT_EQ(judged(kWell, kZero), kZero);
  EXPECT_EQ(judged({true, false, false, {}, {}, false}, kZero).mpi, MpiEnd::never_connected);
  EXPECT_EQ(judged({true, true, false, {}, {}, false}, kZero).mpi, MpiEnd::not_finalized);
  const ExitStatus other = judged(in_world_of(1), kZero);
  EXPECT_EQ(other, (ExitStatus{false, 0, false, "", MpiEnd::other_world, 1}));
  EXPECT_FALSE(other.ok());
}

TEST(WireUp, ARankWithoutAWayToMeetIsNotJudged) {
  EXPECT_EQ(judged({false, false, false, {}, 1, false}, kZero), kZero);
}

TEST(WireUp, WhatFailsByItselfIsCalledThat) {
  const ExitStatus three{false, 3};
  for (const WireUp& seen : {WireUp{true, false, false, {}, {}, false}, in_world_of(1)})
    EXPECT_EQ(judged(seen, three), three);
}

TEST(WireUp, MpiAbortIsCalledThatHoweverTheProcessEnds) {
  const WireUp aborted{true, true, false, 0x107, 1, false};
  EXPECT_EQ(judged(aborted, kZero), (ExitStatus{false, 7, false, "", MpiEnd::aborted}));
  EXPECT_EQ(judged(aborted, {true, 9}), (ExitStatus{false, 7, false, "", MpiEnd::aborted}));
}

/// The rank was killed for that after it had called only MPI_Init.
TEST(WireUp, AWorldThatCannotComeAboutIsTheReasonHoweverTheProcessEnds) {
  const WireUp seen{true, true, false, {}, 3, true};
  const ExitStatus other{false, 0, false, "", MpiEnd::other_world, 3};
  EXPECT_EQ(judged(seen, {true, 9}), other);
  EXPECT_EQ(judged(both({true, false, false, {}, {}, false}, seen), kZero), other);
}

/// It exits before it has made a world: MPI_Finalize is what is missing.
TEST(WireUp, WhoHasNotFinalizedIsToldSo) {
  EXPECT_EQ(judged({true, true, false, {}, 1, false}, kZero).mpi, MpiEnd::not_finalized);
}

TEST(WireUp, OneWayIsEnough) {
  const WireUp silent{true, false, false, {}, {}, false};
  EXPECT_EQ(judged(both(kWell, silent), kZero), kZero);
  EXPECT_EQ(judged(both(silent, kWell), kZero), kZero);
  EXPECT_EQ(judged(both(kWell, in_world_of(1)), kZero), kZero)
      << "met by PMIx, and PMI-1 for something else";
  EXPECT_EQ(judged(both(silent, in_world_of(3)), kZero).mpi_world, 3);
  EXPECT_EQ(judged(both(WireUp(), in_world_of(3)), kZero).mpi_world, 3);
}

}  // namespace
}  // namespace dlaunch
