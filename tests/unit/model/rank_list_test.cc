#include "model/rank_list.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

std::vector<Rank> ranks(std::initializer_list<std::uint32_t> numbers) {
  std::vector<Rank> out;
  for (const std::uint32_t number : numbers) out.emplace_back(number);
  return out;
}

TEST(RankRanges, JoinsNeighbours) {
  EXPECT_EQ(rank_ranges(ranks({})), "");
  EXPECT_EQ(rank_ranges(ranks({5})), "5");
  EXPECT_EQ(rank_ranges(ranks({0, 1, 2, 3, 6, 7})), "0-3, 6, 7");
  EXPECT_EQ(rank_ranges(ranks({1, 3, 4, 5, 9})), "1, 3-5, 9");
}

TEST(RankRanges, CountsWhatDoesNotFit) {
  std::vector<Rank> even;
  for (std::uint32_t i = 0; i < 1000; i += 2) even.emplace_back(i);
  EXPECT_EQ(rank_ranges(even, 12), "0, 2, 4, 6, 8 and 495 more");
}

TEST(CompactRanges, TakeLittleRoom) {
  const auto text = [](std::vector<std::uint32_t> numbers, std::size_t max_chars = 24) {
    return compact_ranges(numbers, max_chars);
  };
  EXPECT_EQ(text({5}), "5");
  EXPECT_EQ(text({0, 1}), "0-1");
  EXPECT_EQ(text({0, 1, 2, 3, 7}), "0-3,7");
  EXPECT_EQ(text({1, 3, 5, 7, 9, 10, 11}, 6), "1,3,5,7 and 3 more");
}

}  // namespace
}  // namespace dlaunch
