#include "text/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace dlaunch {
namespace {

TEST(Utf8, DecodesEachLength) {
  EXPECT_EQ(decode_utf8("a"), (CodePoint{'a', 1, true}));
  EXPECT_EQ(decode_utf8("\xC3\xA9"), (CodePoint{0xE9, 2, true}));
  EXPECT_EQ(decode_utf8("\xE2\x82\xAC"), (CodePoint{0x20AC, 3, true}));
  EXPECT_EQ(decode_utf8("\xF0\x9F\x98\x80"), (CodePoint{0x1F600, 4, true}));
}

// RFC 3629 section 3: no overlong forms, no surrogates, nothing above U+10FFFF.
TEST(Utf8, RefusesWhatRfc3629Forbids) {
  for (const char* bad : {"\xC0\xAF", "\xC0\x80", "\xC1\xBF", "\xE0\x80\xAF", "\xE0\x80\x80",
                          "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80",
                          "\xF5\x80\x80\x80", "\xFF", "\x80", "\xC3", "\xC3x"}) {
    EXPECT_FALSE(decode_utf8(bad).valid) << bad;
    EXPECT_EQ(decode_utf8(bad).size, 1) << bad;
  }
}

// The Unicode Standard, table 3-11: a truncated sequence is one unit.
TEST(Utf8, ATruncatedSequenceIsOneUnit) {
  EXPECT_EQ(decode_utf8("\xE1\x80"), (CodePoint{0xFFFD, 2, false}));
  EXPECT_EQ(decode_utf8("\xF1\x80\x80"
                        "A"),
            (CodePoint{0xFFFD, 3, false}));
}

TEST(Utf8, CutsBetweenCodePoints) {
  const std::string text =
      "ab\xE2\x82\xAC"
      "cd";
  EXPECT_EQ(utf8_cut(text, 2), 2U);
  EXPECT_EQ(utf8_cut(text, 3), 2U);
  EXPECT_EQ(utf8_cut(text, 4), 2U);
  EXPECT_EQ(utf8_cut(text, 5), 5U);
  EXPECT_EQ(utf8_cut("\x80\x80\x80\x80\x80\x80\x80", 6), 6U) << "broken text is cut where wanted";
}

TEST(Utf8, CountsCodePoints) {
  EXPECT_EQ(utf8_length(""), 0U);
  EXPECT_EQ(utf8_length("na\xC3\xAFve"), 5U);
}

}  // namespace
}  // namespace dlaunch
