#include "model/environment.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(Environment, FirstOfTwoEqualNamesWinsAndEntriesWithoutEqualsAreLeftOut) {
  const char* block[] = {"A=1", "A=2", "broken", "=x", "B=x=y", nullptr};
  EXPECT_EQ(environment_from_block(block), (Environment{{"A", "1"}, {"B", "x=y"}}));
  EXPECT_TRUE(environment_from_block(nullptr).empty());
}

TEST(Environment, NamesThatAShellCanUse) {
  for (const char* good : {"A", "_", "a1_B"}) EXPECT_TRUE(is_variable_name(good)) << good;
  for (const char* bad : {"", "1A", "A-B", "A B", "A=", "\xc3\xa4"}) EXPECT_FALSE(is_variable_name(bad)) << bad;
}

TEST(Environment, Patterns) {
  EXPECT_TRUE(matches_pattern("NCCL_*", "NCCL_DEBUG"));
  EXPECT_TRUE(matches_pattern("NCCL_*", "NCCL_"));
  EXPECT_TRUE(matches_pattern("*_proxy", "http_proxy"));
  EXPECT_TRUE(matches_pattern("A*B*C", "AxxBxBxC"));
  EXPECT_TRUE(matches_pattern("A?C", "ABC"));
  EXPECT_FALSE(matches_pattern("NCCL_*", "XNCCL_DEBUG"));
  EXPECT_FALSE(matches_pattern("A?C", "AC"));
  EXPECT_FALSE(matches_pattern("", "A"));
  EXPECT_TRUE(matches_pattern("*", ""));
}

}  // namespace
}  // namespace dlaunch
