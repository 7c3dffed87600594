#include "report/live_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

ScreenPage page_of(std::size_t rows) {
  ScreenPage page{{"the run", "titles"}, {}};
  for (std::size_t row = 0; row < rows; ++row) page.rows.push_back("row" + std::to_string(row));
  return page;
}

TEST(LiveScreen, KeysAsATerminalSendsThem) {
  std::string typed = "qs\x1b[A\x1b[B\x1b[5~\x1b[6~\x1bOA\x1b[1;5Cx";
  std::vector<Key> keys;
  while (const auto key = take_key(typed)) keys.push_back(*key);
  EXPECT_EQ(keys, (std::vector{Key::quit, Key::stacks, Key::up, Key::down, Key::page_up,
                               Key::page_down, Key::up, Key::other, Key::other}));
}

TEST(LiveScreen, AKeyMayArriveInPieces) {
  std::string typed = "\x1b";
  EXPECT_FALSE(take_key(typed));
  typed += "[6";
  EXPECT_FALSE(take_key(typed));
  typed += "~q";
  EXPECT_EQ(take_key(typed), Key::page_down);
  EXPECT_EQ(take_key(typed), Key::quit);
}

TEST(LiveScreen, ShowsAsMuchAsFits) {
  const ScreenSize size{40, 10};
  const std::string all = drawn(page_of(3), 0, "foot", size);
  EXPECT_THAT(all, HasSubstr("the run\x1b[K\r\ntitles\x1b[K\r\nrow0\x1b[K\r\n"));
  EXPECT_THAT(all, HasSubstr("\x1b[10;1Hfoot\x1b[K"));
  const std::string part = drawn(page_of(30), 5, "foot", size);
  EXPECT_THAT(part, HasSubstr("titles\x1b[K\r\nrow5"));
  EXPECT_THAT(part, HasSubstr("row11"));
  EXPECT_THAT(part, Not(HasSubstr("row12")));
  EXPECT_THAT(part, HasSubstr("foot   6-12 of 30"));
}

TEST(LiveScreen, ScrollsWithinItsBounds) {
  const ScreenSize size{40, 10};  // seven rows
  const ScreenPage page = page_of(30);
  EXPECT_EQ(moved(0, Key::up, page, size), 0U);
  EXPECT_EQ(moved(0, Key::page_down, page, size), 7U);
  EXPECT_EQ(moved(7, Key::page_up, page, size), 0U);
  EXPECT_EQ(moved(22, Key::page_down, page, size), 23U);
  EXPECT_EQ(moved(23, Key::down, page, size), 23U);
  EXPECT_EQ(moved(23, Key::other, page, {40, 100}), 0U) << "the terminal has become larger";
  EXPECT_EQ(moved(23, Key::other, page_of(9), size), 2U) << "ranks have gone";
}

TEST(LiveScreen, OnASmallTerminalTheHeadScrollsToo) {
  const ScreenSize size{40, 4};
  EXPECT_EQ(rows_shown(page_of(3), size), 3U);
  EXPECT_THAT(drawn(page_of(3), 2, "foot", size), HasSubstr("\x1b[Hrow0"));
  EXPECT_EQ(moved(0, Key::page_down, page_of(3), size), 2U);
}

TEST(LiveScreen, LinesAreCutToTheTerminal) {
  ScreenPage page;
  page.rows.push_back(std::string(100, 'x'));
  EXPECT_THAT(drawn(page, 0, "foot", {20, 5}), HasSubstr(std::string(17, 'x') + "...\x1b[K"));
}

}  // namespace
}  // namespace dlaunch
