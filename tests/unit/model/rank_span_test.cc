#include "model/rank_span.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(RankSpans, TheSameSetGivesTheSameSpans) {
  const std::vector<RankSpan> expected = {{Rank(0), 3}, {Rank(5), 1}};
  EXPECT_EQ(spans_of({Rank(0), Rank(1), Rank(2), Rank(5)}), expected);
  EXPECT_EQ(spans_of({Rank(5), Rank(2), Rank(0), Rank(1), Rank(2)}), expected);
  EXPECT_TRUE(spans_of({}).empty());
}

TEST(RankSpans, WhatTheyHold) {
  const std::vector<RankSpan> spans = {{Rank(2), 2}, {Rank(4294967295U), 1}};
  for (const std::uint32_t in : {2U, 3U, 4294967295U}) EXPECT_TRUE(contains(spans, Rank(in)));
  for (const std::uint32_t out : {0U, 1U, 4U, 4294967294U})
    EXPECT_FALSE(contains(spans, Rank(out)));
  EXPECT_EQ(count_of(spans), 3U);
}

}  // namespace
}  // namespace dlaunch
