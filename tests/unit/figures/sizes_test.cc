#include "measure/figures/sizes.h"

#include <gmock/gmock.h>

namespace dlaunch::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ReadSize, KnowsPowersOf1024) {
  EXPECT_EQ(read_size("8"), 8U);
  EXPECT_EQ(read_size("0"), 0U);
  EXPECT_EQ(read_size("64K"), 65536U);
  EXPECT_EQ(read_size("64k"), 65536U);
  EXPECT_EQ(read_size("1M"), 1048576U);
  EXPECT_EQ(read_size("4G"), 4294967296U);
  EXPECT_EQ(read_size("4GB"), 4294967296U);
  EXPECT_EQ(read_size("4GiB"), 4294967296U);
  EXPECT_EQ(read_size("100B"), 100U);
  EXPECT_EQ(read_size("1T"), kMostBytes);
}

TEST(ReadSize, RefusesOtherText) {
  for (const char* text : {"", "K", "-8", "1.5M", "8X", "8 K", "8KK", "0x10", "+8"})
    EXPECT_FALSE(read_size(text)) << text;
  for (const char* text : {"2T", "1025G", "18446744073709551615", "99999999999999999999"})
    EXPECT_FALSE(read_size(text)) << text;
  EXPECT_THAT(read_size("8X").error().message, HasSubstr("\"8X\": expected a whole number"));
}

TEST(ShortSize, IsTheShortest) {
  EXPECT_EQ(short_size(0), "0");
  EXPECT_EQ(short_size(1000), "1000");
  EXPECT_EQ(short_size(1024), "1K");
  EXPECT_EQ(short_size(1536), "1.5K");
  EXPECT_EQ(short_size(1536 * 1024), "1.5M");
  EXPECT_EQ(short_size(3U << 20U), "3M");
  EXPECT_EQ(short_size(1025 * 1024), "1025K");
  EXPECT_EQ(short_size(std::uint64_t{1} << 40U), "1T");
}

TEST(SizesOf, MultipliesOrAdds) {
  EXPECT_THAT(*sizes_of({8, 64, 2, 0}, 4), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(*sizes_of({8, 100, 4, 0}, 4), ElementsAre(8, 32));
  EXPECT_THAT(*sizes_of({8, 20, 2, 4}, 4), ElementsAre(8, 12, 16, 20));
  EXPECT_THAT(*sizes_of({64, 64, 2, 0}, 4), ElementsAre(64));
  EXPECT_THAT(*sizes_of({1, kMostBytes, 999'999'999, 0}, 1), ElementsAre(1, 999'999'999));
}

TEST(SizesOf, NamesTheMistake) {
  EXPECT_THAT(sizes_of({64, 8, 2, 0}, 4).error().message,
              HasSubstr("smallest size, 64, is above the largest, 8"));
  EXPECT_THAT(sizes_of({6, 64, 2, 0}, 4).error().message, HasSubstr("not a multiple"));
  EXPECT_THAT(sizes_of({8, 64, 2, 3}, 4).error().message, HasSubstr("11 bytes is not a multiple"));
  EXPECT_THAT(sizes_of({0, 64, 2, 0}, 4).error().message, HasSubstr("must not be 0"));
  EXPECT_THAT(sizes_of({8, 64, 1, 0}, 4).error().message, HasSubstr("factor"));
  EXPECT_THAT(sizes_of({1, kMostBytes, 2, 1}, 1).error().message, HasSubstr("more than 1000"));
}

}  // namespace
}  // namespace dlaunch::measure
