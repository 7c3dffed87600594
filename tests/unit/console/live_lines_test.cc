#include "launch/console/live_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dlaunch {
namespace {

std::string fitting(std::string_view text, std::size_t columns) {
  std::string out;
  append_fitting(text, columns, out);
  return out;
}

TEST(AppendFitting, CutsAtColumns) {
  EXPECT_EQ(fitting("abcdef", 4), "abcd");
  EXPECT_EQ(fitting("100%|\u2588\u2588|", 7), "100%|\u2588\u2588");
  EXPECT_EQ(fitting("\u4E2D\u6587x", 4), "\u4E2D\u6587") << "these take two columns each";
  EXPECT_EQ(fitting("\u4E2D\u6587x", 3), "\u4E2D");
  EXPECT_EQ(fitting("e\u0301x", 2), "e\u0301x");
}

TEST(AppendFitting, KeepsColoursAndEndsThem) {
  EXPECT_EQ(fitting("\x1b[32mgreen\x1b[0m!", 3), "\x1b[32mgre\x1b[0m");
}

TEST(AppendFitting, LeavesOutWhatMovesTheCursor) {
  EXPECT_EQ(fitting("a\tb\x1b[2Kc\x07"
                    "d\x1b[5A",
                    9),
            "abcd");
  EXPECT_EQ(fitting("a\xFF"
                    "b",
                    9),
            "a\uFFFDb");
  EXPECT_EQ(fitting("a\x1b[", 9), "a[") << "an escape without an end is not a sequence";
}

TEST(LiveLines, DrawsBelowAndTakesAway) {
  LiveLines live;
  std::string out;
  live.draw({{"a:0 | ", 6, " 10%"}, {"a:1 | ", 6, " 20%"}}, {80, 24}, out);
  EXPECT_EQ(out, "a:0 |  10%\r\na:1 |  20%");
  EXPECT_TRUE(live.drawn());
  out.clear();
  live.erase({80, 24}, out);
  EXPECT_EQ(out, "\r\x1b[1A\x1b[J");
  EXPECT_FALSE(live.drawn());
  out.clear();
  live.erase({80, 24}, out);
  EXPECT_EQ(out, "");
}

TEST(LiveLines, OneRowNeedsNoWayUp) {
  LiveLines live;
  std::string out;
  live.draw({{"", 0, "x"}}, {80, 24}, out);
  live.erase({80, 24}, out);
  EXPECT_EQ(out, "x\r\x1b[J");
}

TEST(LiveLines, LeavesTheLastColumnFree) {
  LiveLines live;
  std::string out;
  live.draw({{"a:0 | ", 6, "0123456789"}}, {12, 24}, out);
  EXPECT_EQ(out, "a:0 | 01234");
}

TEST(LiveLines, ANarrowTerminalShowsThePrefixOnly) {
  LiveLines live;
  std::string out;
  live.draw({{"a:0 | ", 6, "0123456789"}}, {5, 24}, out);
  EXPECT_EQ(out, "a:0 ");
}

TEST(LiveLines, TakesHalfOfTheTerminalAtMost) {
  LiveLines live;
  std::string out;
  const std::vector<LiveRow> rows(10, LiveRow{"", 0, "bar"});
  live.draw(rows, {80, 8}, out);
  EXPECT_EQ(out, "bar\r\nbar\r\nbar\r\n... and 7 more");
}

TEST(LiveLines, ATerminalThatWasMadeNarrowerHasWrapped) {
  LiveLines live;
  std::string out;
  live.draw({{"", 0, std::string(70, 'x')}, {"", 0, std::string(30, 'y')}}, {80, 24}, out);
  out.clear();
  live.erase({40, 24}, out);
  EXPECT_EQ(out, "\r\x1b[2A\x1b[J") << "two lines of x, one of y, the cursor is in the third";
}

}  // namespace
}  // namespace dlaunch
