#include "agent/output/stored_ranges.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using Piece = StoredRanges::Piece;

TEST(StoredRanges, NothingIsStoredAtFirst) {
  const StoredRanges stored;
  EXPECT_EQ(stored.from(0), std::nullopt);
  EXPECT_EQ(stored.total(), 0U);
  EXPECT_EQ(stored.end(), 0U);
}

TEST(StoredRanges, WhatFollowsIsOnePiece) {
  StoredRanges stored;
  stored.add(0, 10, 0);
  stored.add(10, 5, 10);
  stored.add(15, 0, 15);
  EXPECT_EQ(stored.pieces(), 1U);
  EXPECT_EQ(stored.from(4), (Piece{4, 11, 4}));
  EXPECT_EQ(stored.from(15), std::nullopt);
}

TEST(StoredRanges, BehindAGapTheOffsetsDiffer) {
  StoredRanges stored;
  stored.add(0, 10, 0);
  stored.add(30, 10, 17);  // 20 bytes lost, a mark of 7 in the file
  EXPECT_EQ(stored.from(9), (Piece{9, 1, 9}));
  EXPECT_EQ(stored.from(10), (Piece{30, 10, 17}));
  EXPECT_EQ(stored.from(33), (Piece{33, 7, 20}));
  EXPECT_EQ(stored.total(), 20U);
  EXPECT_EQ(stored.end(), 40U);
}

}  // namespace
}  // namespace dlaunch
