#include "launch/console/recent_lines.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(RecentLines, CountsWithinTheWindow) {
  RecentLines lines;
  EXPECT_EQ(lines.count(0, 10), 0U);
  lines.add(0, 3);
  lines.add(1, 2);
  lines.add(0, 1);
  EXPECT_EQ(lines.count(0, 1), 1U);
  EXPECT_EQ(lines.count(0, 3), 1U);
  EXPECT_EQ(lines.count(0, 5), 3U);
  EXPECT_EQ(lines.count(0, 100), 4U);
  EXPECT_EQ(lines.count(1, 100), 2U);
}

TEST(RecentLines, ForgetsWhatIsFarAbove) {
  RecentLines lines;
  lines.add(0, 5);
  for (int i = 0; i < 1000; ++i) lines.add(1 + static_cast<std::size_t>(i % 2), 1);
  EXPECT_EQ(lines.count(0, 10000), 0U);
  EXPECT_GE(lines.count(1, 10000) + lines.count(2, 10000), RecentLines::kMost);
  lines.add(3, 100000);
  EXPECT_EQ(lines.count(3, 50), 50U);
}

}  // namespace
}  // namespace dlaunch
