#include "launch/connect/channel_opening.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using Found = ChannelOpening::Found;

constexpr std::uint64_t kSession = 0x0123456789abcdefULL;
const std::string kReady = "@dlaunch:0123456789abcdef ready\n";

TEST(ChannelOpening, FindsTheMarkerBehindWhateverAShellPrints) {
  for (const std::string banner :
       {"", "Welcome\n", "Welcome, without an end", "@dlaunch:", "@dlaunch:0123456789abcde\n",
        "@dlaunch:ffffffffffffffff ready\n", "\xff\x00\r\n"}) {
    ChannelOpening opening(kSession);
    EXPECT_EQ(opening.feed(banner), Found::nothing) << banner;
    EXPECT_EQ(opening.feed(kReady + "abc"), Found::ready) << banner;
    EXPECT_EQ(opening.rest(), "abc");
  }
}

TEST(ChannelOpening, HoweverItIsCut) {
  const std::string text = "Last login: today\n" + kReady + "xy";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    ChannelOpening opening(kSession);
    (void)opening.feed(std::string_view(text).substr(0, cut));
    EXPECT_EQ(opening.feed(std::string_view(text).substr(cut)), Found::ready) << cut;
    EXPECT_EQ(opening.rest(), "xy") << cut;
  }
  ChannelOpening opening(kSession);
  for (const char c : text) (void)opening.feed(std::string_view(&c, 1));
  EXPECT_EQ(opening.found(), Found::ready);
  EXPECT_EQ(opening.rest(), "xy");
}

TEST(ChannelOpening, CountsThePartsThatANodeHasTaken) {
  const std::string more = "@dlaunch:0123456789abcdef more\n";
  ChannelOpening opening(kSession);
  EXPECT_EQ(opening.feed(more), Found::nothing);
  EXPECT_EQ(opening.feed(more + more.substr(0, 9)), Found::nothing);
  EXPECT_EQ(opening.parts_taken(), 2U);
  EXPECT_EQ(opening.feed(more.substr(9) + kReady + more), Found::ready);
  EXPECT_EQ(opening.parts_taken(), 3U);
  EXPECT_EQ(opening.rest(), more);
}

TEST(ChannelOpening, WhatANodeSays) {
  const auto hear = [](const std::string& line) {
    ChannelOpening opening(kSession);
    (void)opening.feed("hi\n@dlaunch:0123456789abcdef " + line + "\n");
    return std::make_pair(opening.found(), opening.argument());
  };
  EXPECT_EQ(hear("missing aarch64"), std::make_pair(Found::missing, std::string("aarch64")));
  EXPECT_EQ(
      hear("failed mkdir: cannot create: Read-only\x1b[2J file system\r"),
      std::make_pair(Found::failed, std::string("mkdir: cannot create: Read-only[2J file system")));
  EXPECT_EQ(hear("unfetched no connection (errno 111)"),
            std::make_pair(Found::unfetched, std::string("no connection (errno 111)")));
  EXPECT_EQ(hear("nonsense"),
            std::make_pair(Found::failed, std::string("unexpected answer \"nonsense\"")));
}

TEST(ChannelOpening, AnEndlessLineBehindTheMarkerIsCut) {
  ChannelOpening opening(kSession);
  EXPECT_EQ(opening.feed("@dlaunch:0123456789abcdef failed " + std::string(5000, 'x')),
            Found::failed);
  EXPECT_LE(opening.argument().size(), 1024U);
}

TEST(ChannelOpening, ABannerHasAnEnd) {
  ChannelOpening opening(kSession);
  const std::string line = "y\n";
  std::size_t fed = 0;
  while (opening.feed(line) == Found::nothing && fed < 2 * kMostBanner) fed += line.size();
  EXPECT_EQ(opening.found(), Found::too_much);
  EXPECT_LE(fed, kMostBanner);
  EXPECT_EQ(opening.last_banner_line(), "y");
}

TEST(ChannelOpening, TheLastLineThatSaysSomething) {
  EXPECT_EQ(last_line("a\nThis account is closed.\r\n\n \t\n"), "This account is closed.");
  EXPECT_EQ(last_line("one"), "one");
  EXPECT_EQ(last_line("\x1b[1mbold\x1b[0m"), "[1mbold[0m");
  EXPECT_EQ(last_line(""), "");
  EXPECT_EQ(last_line("\n\n"), "");
  EXPECT_LE(last_line(std::string(5000, 'x')).size(), 303U);
}

TEST(ChannelOpening, StartedIsRememberedAndTheSearchGoesOn) {
  const std::string started = kReady.substr(0, kReady.find("ready")) + "started";
  for (const char* line_end : {"\n", "\r\n"}) {
    ChannelOpening opening(kSession);
    EXPECT_EQ(opening.feed("Welcome\n"), Found::nothing);
    EXPECT_FALSE(opening.started());
    EXPECT_EQ(opening.feed(started + line_end), Found::nothing);
    EXPECT_TRUE(opening.started());
    EXPECT_EQ(opening.last_banner_line(), "") << "the banner is nothing that the program has said";
    EXPECT_EQ(opening.feed("a word\n"), Found::nothing);
    EXPECT_EQ(opening.last_banner_line(), "a word");
    EXPECT_EQ(opening.feed(kReady + "abc"), Found::ready);
    EXPECT_EQ(opening.rest(), "abc");
  }
  ChannelOpening together(kSession);
  EXPECT_EQ(together.feed(started + '\n' + kReady + "abc"), Found::ready);
  EXPECT_EQ(together.rest(), "abc");
}

}  // namespace
}  // namespace dlaunch
