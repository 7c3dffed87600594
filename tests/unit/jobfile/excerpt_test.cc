#include "jobfile/diagnostics.h"

#include <gtest/gtest.h>

#include "text/utf8.h"

namespace dlaunch::jobfile {
namespace {

std::string mark(const std::string& text, const std::string& part) {
  return excerpt(text, {0, static_cast<std::uint32_t>(text.find(part)),
                        static_cast<std::uint32_t>(part.size())});
}

/// Columns of a terminal that the line takes.
int width_of(const std::string& line) {
  int width = 0;
  for (std::size_t i = 0; i < line.size();) {
    const CodePoint c = decode_utf8(std::string_view(line).substr(i));
    width += terminal_width(c.value);
    i += c.size;
  }
  return width;
}

TEST(Excerpt, MarksTheText) {
  EXPECT_EQ(mark("a: 1\n  nods: 4\nb: 2\n", "nods"),
            "    2 |   nods: 4\n"
            "      |   ^~~~");
}

TEST(Excerpt, MarksTheEndOfALine) {
  EXPECT_EQ(excerpt("ab\ncd\n", {0, 2, 0}),
            "    1 | ab\n"
            "      |   ^");
  EXPECT_EQ(excerpt("ab", {0, 2, 0}),
            "    1 | ab\n"
            "      |   ^");
  EXPECT_EQ(excerpt("", {0, 0, 0}),
            "    1 | \n"
            "      | ^");
}

TEST(Excerpt, ExpandsTabsAndLeavesOutCarriageReturns) {
  EXPECT_EQ(mark("a\tkey: 1\r\n", "key"),
            "    1 | a       key: 1\n"
            "      |         ^~~");
}

// UAX 11: wide characters take two columns, combining marks none.
TEST(Excerpt, LinesUpUnderWideAndCombinedCharacters) {
  EXPECT_EQ(mark("\xe6\x97\xa5\xe6\x9c\xac: xy", "xy"),  // two CJK characters
            "    1 | \xe6\x97\xa5\xe6\x9c\xac: xy\n"
            "      |       ^~");
  EXPECT_EQ(mark("e\xcc\x81: xy", "xy"),  // e and a combining acute accent
            "    1 | e\xcc\x81: xy\n"
            "      |    ^~");
  EXPECT_EQ(mark("\xe6\x97\xa5: x", "\xe6\x97\xa5"),
            "    1 | \xe6\x97\xa5: x\n"
            "      | ^~");
}

TEST(Excerpt, ShowsNothingThatATerminalWouldObey) {
  EXPECT_EQ(mark("a: \x1b[31m\xff", "a"),
            "    1 | a: ?[31m?\n"
            "      | ^");
}

TEST(Excerpt, CutsLongLinesAroundTheCaret) {
  for (const std::size_t before : {0u, 30u, 100u, 5'000u, 100'000u}) {
    for (const std::size_t after : {0u, 30u, 100u, 5'000u, 100'000u}) {
      const std::string text = std::string(before, 'x') + "MARK" + std::string(after, 'y');
      const std::string shown = mark(text, "MARK");
      const std::string line = shown.substr(0, shown.find('\n'));
      const std::string below = shown.substr(shown.find('\n') + 1);
      EXPECT_LE(width_of(line), 80);
      EXPECT_LE(width_of(below), 80);
      ASSERT_NE(line.find("MARK"), std::string::npos);
      EXPECT_EQ(below.find("^~~~"), line.find("MARK"));
      if (before + after > 100) {
        EXPECT_NE(line.find("..."), std::string::npos);
      }
    }
  }
}

TEST(Excerpt, CutsAMarkThatIsLongerThanALine) {
  const std::string shown = mark(std::string(500, 'z'), std::string(500, 'z'));
  EXPECT_LE(width_of(shown.substr(shown.find('\n') + 1)), 80);
}

TEST(Locate, CountsCharactersNotBytes) {
  EXPECT_EQ(locate("\xc3\xa9\xc3\xa9x\nab", 4), (Location{1, 3}));
  EXPECT_EQ(locate("\xc3\xa9\xc3\xa9x\nab", 7), (Location{2, 2}));
  EXPECT_EQ(locate("", 0), (Location{1, 1}));
  EXPECT_EQ(locate("a\n", 99), (Location{2, 1}));
}

TEST(Quoted, EscapesAndCuts) {
  EXPECT_EQ(in_quotes("a\nb\x1b"), "\"a\\nb\\x1b\"");
  EXPECT_EQ(in_quotes(std::string(100, 'a')), "\"" + std::string(60, 'a') + "...\"");
  EXPECT_EQ(in_quotes("\xe2\x80\xae"), "\"\\u202e\"");  // right-to-left override
}

}  // namespace
}  // namespace dlaunch::jobfile
