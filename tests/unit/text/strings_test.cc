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

TEST(Strings, RightAlignedCountsCodePoints) {
  EXPECT_EQ(right_aligned("\xC3\xA4", 3), "  \xC3\xA4");
  EXPECT_EQ(right_aligned("abcd", 3), "abcd");
}

TEST(Strings, FileNameFollowsTheLastSlash) {
  EXPECT_EQ(file_name("/usr/bin/python3"), "python3");
  EXPECT_EQ(file_name("train.py"), "train.py");
  EXPECT_EQ(file_name("a/"), "");
}

TEST(Strings, InAFolderIsItOrBelow) {
  EXPECT_TRUE(is_in_folder("/tmp", "/tmp"));
  EXPECT_TRUE(is_in_folder("/tmp/a", "/tmp"));
  EXPECT_FALSE(is_in_folder("/tmpa", "/tmp"));
  EXPECT_TRUE(is_in_folder("/a", "/"));
}

TEST(Strings, TakesLinesOneByOne) {
  std::string_view text = "a\n\nb";
  EXPECT_EQ(take_line(text), "a");
  EXPECT_EQ(take_line(text), "");
  EXPECT_EQ(take_line(text), "b");
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(take_line(text), "");
}

TEST(Strings, SplitsWordsAndJoinsThem) {
  using Words = std::vector<std::string_view>;
  EXPECT_EQ(split_words(" a  b\t\r\nc "), (Words{"a", "b", "c"}));
  EXPECT_EQ(split_words(" \n"), Words{});
  EXPECT_EQ(joined(Words{"a", "", "c"}), "a, , c");
  EXPECT_EQ(joined(Words{}), "");
  EXPECT_EQ(joined(std::vector<int>{1, 2}, "+", [](int n) { return std::to_string(n); }), "1+2");
}

}  // namespace
}  // namespace dlaunch
