#include "text/strings.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(Strings, CountedTakesAnSExceptAfterOne) {
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(std::size_t{2}, "node"), "2 nodes");
}

TEST(Strings, LowerChangesAsciiLettersOnly) {
  EXPECT_EQ(lower("GPU-Zz[9]\xC3\x84"), "gpu-zz[9]\xC3\x84");
}

TEST(Strings, FirstLineEndsBeforeTheLineBreak) {
  EXPECT_EQ(first_line("one\ntwo"), "one");
  EXPECT_EQ(first_line("one"), "one");
  EXPECT_EQ(first_line("\ntwo"), "");
}

TEST(Strings, TrimmedHasNoBlanksAtItsEnds) {
  EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \n"), "");
}

TEST(Strings, PaddedCountsCodePoints) {
  EXPECT_EQ(padded("\xC3\xA4", 3), "\xC3\xA4  ");
  EXPECT_EQ(padded("long", 2), "long");
}

}  // namespace
}  // namespace dlaunch
