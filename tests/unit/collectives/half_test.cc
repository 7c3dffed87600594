// Conversion of every 16-bit pattern, and rounding.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "measure/collectives/half.h"

namespace dlaunch::collectives {
namespace {

TEST(Half, EveryFloat16RoundTrips) {
  for (unsigned bits = 0; bits <= 0xffffU; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = from_float16(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(from_float16(to_float16(value)))) << bits;
    } else {
      ASSERT_EQ(to_float16(value), half) << value;
    }
  }
}

TEST(Half, EveryBfloat16RoundTrips) {
  for (unsigned bits = 0; bits <= 0xffffU; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = from_bfloat16(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(value)))) << bits;
    } else {
      ASSERT_EQ(to_bfloat16(value), half) << value;
    }
  }
}

TEST(Half, ValuesOfTheStandard) {  // IEEE 754-2019, table 3.5: binary16
  EXPECT_EQ(from_float16(0x3c00), 1.0F);
  EXPECT_EQ(from_float16(0xc000), -2.0F);
  EXPECT_EQ(from_float16(0x7bff), 65504.0F);
  EXPECT_EQ(from_float16(0x0400), std::ldexp(1.0F, -14));
  EXPECT_EQ(from_float16(0x0001), std::ldexp(1.0F, -24));
  EXPECT_EQ(from_float16(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(to_float16(-0.0F), 0x8000);
}

TEST(Half, RoundsToTheNearestAndToEven) {
  EXPECT_EQ(to_float16(2049.0F), 0x6800) << "between 2048 and 2050: even";
  EXPECT_EQ(to_float16(2051.0F), 0x6802) << "between 2050 and 2052: even";
  EXPECT_EQ(to_float16(2049.1F), 0x6801);
  EXPECT_EQ(to_float16(65519.0F), 0x7bff);
  EXPECT_EQ(to_float16(65520.0F), 0x7c00) << "half-way to 65536: infinity";
  EXPECT_EQ(to_float16(1e30F), 0x7c00);
  EXPECT_EQ(to_float16(std::ldexp(1.0F, -25)), 0x0000) << "half of the smallest number: even";
  EXPECT_EQ(to_float16(std::ldexp(1.5F, -25)), 0x0001);
  EXPECT_EQ(to_float16(std::ldexp(1.0F, -14) - std::ldexp(1.0F, -26)), 0x0400)
      << "rounds up to a normal number";
  EXPECT_EQ(to_bfloat16(257.0F), 0x4380) << "between 256 and 258: even";
  EXPECT_EQ(to_bfloat16(259.0F), 0x4382) << "between 258 and 260: even";
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()), 0x7f80);
}

}  // namespace
}  // namespace dlaunch::collectives
