#include "launch/received_ranges.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using Gap = ReceivedRanges::Gap;

TEST(ReceivedRanges, InAnyOrderAndMoreThanOnce) {
  ReceivedRanges ranges;
  EXPECT_EQ(ranges.first_gap(0), std::nullopt);
  EXPECT_EQ(ranges.first_gap(10), (Gap{0, 10}));
  ranges.add(20, 30);
  ranges.add(40, 50);
  EXPECT_EQ(ranges.first_gap(100), (Gap{0, 20}));
  ranges.add(0, 20);
  EXPECT_EQ(ranges.first_gap(100), (Gap{30, 40}));
  EXPECT_EQ(ranges.first_gap(35), (Gap{30, 35}));
  EXPECT_EQ(ranges.first_gap(30), std::nullopt);
  ranges.add(25, 45);
  ranges.add(5, 5);
  ranges.add(9, 3);
  EXPECT_EQ(ranges.first_gap(100), (Gap{50, 100}));
  EXPECT_EQ(ranges.pieces(), 1U);
}

TEST(ReceivedRanges, AgainstASetOfBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    ReceivedRanges ranges;
    std::vector<bool> bytes(64);
    for (int i = 0; i < 12; ++i) {
      const std::uint64_t begin = random() % 64;
      const std::uint64_t end = std::min<std::uint64_t>(64, begin + random() % 16);
      ranges.add(begin, end);
      for (std::uint64_t at = begin; at < end; ++at) bytes[at] = true;
      std::uint64_t first = 0;
      while (first < 64 && bytes[first]) ++first;
      std::uint64_t last = first;
      while (last < 64 && !bytes[last]) ++last;
      const auto gap = ranges.first_gap(64);
      ASSERT_EQ(gap, first == 64 ? std::nullopt : std::optional(Gap{first, last}));
    }
  }
}

}  // namespace
}  // namespace dlaunch
