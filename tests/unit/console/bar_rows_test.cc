#include "launch/console/bar_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The output, and what is shown now.
class Bars {
  auto sink() {
    return [this](std::string_view row) { lines.emplace_back(row); };
  }

 public:
  explicit Bars(std::string line = "") : rows_(std::move(line)) {}
  std::size_t add(std::string_view bytes) { return rows_.add(bytes, sink()); }
  Bars& settle() {
    rows_.settle(sink());
    return *this;
  }
  Bars& finish() {
    rows_.finish(sink());
    return *this;
  }
  [[nodiscard]] std::vector<std::string> shown() const {
    std::vector<std::string> rows;
    rows_.each([&](std::string_view row) { rows.emplace_back(row); });
    return rows;
  }
  [[nodiscard]] bool done() const { return rows_.done(); }
  [[nodiscard]] std::string rest() { return rows_.rest(); }
  [[nodiscard]] std::size_t held() const { return rows_.held(); }
  std::vector<std::string> lines;

 private:
  BarRows rows_;
};

// What tqdm 4.64 writes (std.py: status_printer(), moveto()): "\r" + bar + blanks over the rest of
// a longer one; at position n, "\n" * n before and ESC [ A n times after; leave=False overwrites
// with blanks.

TEST(BarRows, ShowsTheLastState) {
  Bars bars;
  bars.add(" 10%|#    |");
  EXPECT_THAT(bars.shown(), ElementsAre(" 10%|#    |"));
  bars.add("\r");
  EXPECT_THAT(bars.shown(), ElementsAre(" 10%|#    |")) << "nothing new yet";
  bars.add(" 20%");
  bars.add("|##   |");
  EXPECT_THAT(bars.shown(), ElementsAre(" 20%|##   |"));
  EXPECT_THAT(bars.lines, IsEmpty());
}

TEST(BarRows, ATextBelowEndsTheBar) {
  Bars bars;
  EXPECT_EQ(bars.add(" 10%\r100%\nepoch 1 done\nmore"), 23U) << "up to where there are no bars";
  EXPECT_THAT(bars.lines, ElementsAre("100%", "epoch 1 done"));
  EXPECT_TRUE(bars.done());
}

TEST(BarRows, SettleEndsTheBarThatWasLeft) {
  Bars bars;
  bars.add("100%\nthe beginning of");
  EXPECT_THAT(bars.settle().lines, IsEmpty()) << "the stream has only just moved";
  EXPECT_THAT(bars.settle().lines, ElementsAre("100%"));
  EXPECT_TRUE(bars.done());
  EXPECT_EQ(bars.rest(), "the beginning of");
}

TEST(BarRows, TwoBarsStayInTheirRows) {
  Bars bars;
  bars.add("outer 1/9");
  bars.add("\n\rinner 1/5\x1b[A");
  bars.add("\n\rinner 2/5\x1b");
  bars.add("[A\router 2/9");
  EXPECT_THAT(bars.shown(), ElementsAre("outer 2/9", "inner 2/5"));
  EXPECT_THAT(bars.settle().settle().lines, IsEmpty());
  bars.add("\n\r         \x1b[A\n");  // the inner one is erased, the outer one remains
  bars.settle().settle();
  EXPECT_THAT(bars.lines, ElementsAre("outer 2/9"));
}

TEST(BarRows, ThreeBarsStayInTheirRows) {
  Bars bars;
  bars.add("a 1\n\rb 1\x1b[A\n\n\rc 1\x1b[A\x1b[A\n\rb 2\x1b[A\n\n\rc 2\x1b[2A\ra 2");
  EXPECT_THAT(bars.shown(), ElementsAre("a 2", "b 2", "c 2"));
  EXPECT_THAT(bars.finish().lines, ElementsAre("a 2", "b 2", "c 2"));
}

TEST(BarRows, ABarThatIsWipedLeavesNothing) {
  Bars bars;
  bars.add(" 50%|##  |\r          \rdone\n");
  EXPECT_THAT(bars.finish().lines, ElementsAre("done"));
  Bars erased;
  erased.add(" 50%\r\x1b[K");
  EXPECT_THAT(erased.shown(), IsEmpty());
  Bars whole;
  whole.add(" 50%\x1b[2K");
  EXPECT_THAT(whole.finish().lines, IsEmpty());
}

TEST(BarRows, KeepsTheLineBeforeTheFirstCarriageReturn) {
  Bars bars("0 of 3");
  EXPECT_THAT(bars.shown(), ElementsAre("0 of 3"));
  EXPECT_THAT(bars.finish().lines, ElementsAre("0 of 3"));
}

TEST(BarRows, ColoursStay) {
  Bars bars;
  bars.add("\x1b[32m 10%\x1b[0m");
  EXPECT_THAT(bars.shown(), ElementsAre("\x1b[32m 10%\x1b[0m"));
}

TEST(BarRows, RowsAreBounded) {
  Bars bars;
  for (int i = 0; i < 1000; ++i) bars.add("\rbar " + std::to_string(i) + "\n");
  EXPECT_GE(bars.lines.size(), 1000 - BarRows::kMaxRows);
  EXPECT_EQ(bars.lines.front(), "bar 0");
  bars.finish();
  EXPECT_EQ(bars.lines.size(), 1000U);
  EXPECT_EQ(bars.lines.back(), "bar 999");
}

TEST(BarRows, ALongTextIsNoBar) {
  Bars bars;
  bars.add("\r");
  for (int i = 0; i < 100 && !bars.done(); ++i) bars.add(std::string(1000, 'x'));
  EXPECT_TRUE(bars.done());
  EXPECT_GT(bars.rest().size(), BarRows::kMaxRow);
}

TEST(BarRows, ALongTextAboveAnotherRowIsNoBar) {
  Bars bars("aa");
  bars.add("AA\nbb\rBB\x1b[A");
  std::size_t most = 0;
  for (int i = 0; i < 100 && !bars.done(); ++i) {
    bars.add(std::string(1000, 'x'));
    most = std::max(most, bars.held());
  }
  ASSERT_TRUE(bars.done());
  EXPECT_LT(most, BarRows::kMaxRow + 2000);
  EXPECT_THAT(bars.lines, ElementsAre("BB"));
  EXPECT_EQ(bars.rest().substr(0, 2), "xx");
}

TEST(BarRows, AllRowsTogetherAreBounded) {
  Bars bars;
  std::size_t most = 0;
  for (std::size_t i = 0; i + 1 < BarRows::kMaxRows && !bars.done(); ++i) {
    bars.add("\r" + std::string(BarRows::kMaxRow - 1, 'x') + "\r\n");
    most = std::max(most, bars.held());
  }
  EXPECT_TRUE(bars.done());
  EXPECT_LE(most, BarRows::kMaxHeld + BarRows::kMaxRow);
}

TEST(BarRows, UpBeyondTheFirstRowStaysThere) {
  Bars bars;
  bars.add("one\x1b[A\x1b[99A\rtwo");
  EXPECT_THAT(bars.shown(), ElementsAre("two"));
}

TEST(BarRows, BinaryDataAreNoBarAndLoseNothing) {
  Bars bars("A");
  EXPECT_EQ(bars.add(std::string_view("B\rC\0D\rE", 7)), 6U);
  EXPECT_TRUE(bars.done());
  EXPECT_EQ(bars.rest(), std::string("B\rC\0D\r", 6)) << "A was replaced before, as text";
  EXPECT_THAT(bars.lines, IsEmpty());
}

TEST(BarRows, WhatIsText) {
  EXPECT_TRUE(BarRows::is_text(""));
  EXPECT_TRUE(BarRows::is_text("\x1b[32m 50%|\u2588\u2588  |\x1b[0m\t\a"));
  for (const std::string_view binary :
       {std::string_view("\0", 1), std::string_view("50%\x01"), std::string_view("\x7f"),
        std::string_view("\xff\xfe"), std::string_view("\xc3")}) {
    EXPECT_FALSE(BarRows::is_text(binary));
  }
}

}  // namespace
}  // namespace dlaunch
