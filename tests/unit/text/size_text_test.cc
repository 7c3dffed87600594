#include "text/size_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace dlaunch {
namespace {

TEST(SizeText, TwoDigitsOfThePowersOfAThousand) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1), "1 byte");
  EXPECT_EQ(size_text(999), "999 bytes");
  EXPECT_EQ(size_text(1000), "1.0 kB");
  EXPECT_EQ(size_text(9'940), "9.9 kB");
  EXPECT_EQ(size_text(9'960), "10 kB");
  EXPECT_EQ(size_text(123'456), "123 kB");
  EXPECT_EQ(size_text(999'499), "999 kB");
  EXPECT_EQ(size_text(999'960), "1.0 MB");
  EXPECT_EQ(size_text(1'234'567), "1.2 MB");
  EXPECT_EQ(size_text(56'000'000'000), "56 GB");
  EXPECT_EQ(size_text(std::numeric_limits<std::uint64_t>::max()), "18 EB");
}

}  // namespace
}  // namespace dlaunch
