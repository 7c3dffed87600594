#include "log/console_view.h"

#include <gtest/gtest.h>

#include <string>

namespace dlaunch {
namespace {

constexpr ConsoleOptions kPrefix{true, false};
constexpr ConsoleOptions kPlain{false, false};

TEST(ConsoleView, PrefixesWholeLinesInLinedUpColumns) {
  ConsoleView view(kPrefix, {"node0:3", "node0:12"});
  std::string out;
  view.add(Rank(0), Stream::out, "epoch 1\nepo", out);
  view.add(Rank(1), Stream::out, "hello\n", out);
  view.add(Rank(0), Stream::out, "ch 2\n", out);
  EXPECT_EQ(out,
            "node0:3  | epoch 1\n"
            "node0:12 | hello\n"
            "node0:3  | epoch 2\n");
}

TEST(ConsoleView, KeepsTheTwoStreamsOfARankApart) {
  ConsoleView view(kPrefix, {"a:0"});
  std::string out;
  view.add(Rank(0), Stream::out, "out", out);
  view.add(Rank(0), Stream::err, "err\n", out);
  view.add(Rank(0), Stream::out, " line\n", out);
  EXPECT_EQ(out, "a:0 | err\na:0 | out line\n");
}

TEST(ConsoleView, KeepsAPartialLastLine) {
  ConsoleView view(kPrefix, {"a:0"});
  std::string out;
  view.add(Rank(0), Stream::err, "no newline", out);
  EXPECT_EQ(out, "");
  view.finish(Rank(0), Stream::err, out);
  view.finish(Rank(0), Stream::err, out);
  EXPECT_EQ(out, "a:0 | no newline\n");
}

TEST(ConsoleView, ShowsAHugeLineInParts) {
  ConsoleView view(kPrefix, {"a:0"});
  std::string out;
  view.add(Rank(0), Stream::out, std::string(LineSplitter::kMaxLine, 'x') + "yy\n", out);
  EXPECT_EQ(out, "a:0 | " + std::string(LineSplitter::kMaxLine, 'x') + "\na:0 + yy\n");
}

TEST(ConsoleView, ColoursOnlyThePrefix) {
  ConsoleView view({true, true}, {"a:0", "a:1"});
  std::string out;
  view.add(Rank(0), Stream::out, "x\n", out);
  view.add(Rank(1), Stream::out, "y\n", out);
  EXPECT_EQ(out, "\x1b[0;36ma:0 |\x1b[0m x\n\x1b[0;32ma:1 |\x1b[0m y\n");
}

TEST(ConsoleView, WithoutPrefixASingleRankPassesAtOnce) {
  ConsoleView view(kPlain, {"a:0"});
  std::string out;
  view.add(Rank(0), Stream::out, "Continue? ", out);
  EXPECT_EQ(out, "Continue? ");
  view.add(Rank(0), Stream::out, "a\r\nb\r\xFF", out);
  view.finish(Rank(0), Stream::out, out);
  EXPECT_EQ(out, "Continue? a\r\nb\r\xFF");
}

TEST(ConsoleView, WithoutPrefixSeveralRanksDoNotTearLines) {
  ConsoleView view(kPlain, {"a:0", "a:1"});
  std::string out;
  view.add(Rank(0), Stream::out, "one\r\ntw", out);
  view.add(Rank(1), Stream::out, "three\n", out);
  view.add(Rank(0), Stream::out, "o\n", out);
  view.add(Rank(1), Stream::out, "end", out);
  view.finish(Rank(1), Stream::out, out);
  EXPECT_EQ(out, "one\r\nthree\ntwo\nend");
}

TEST(ConsoleView, WithoutPrefixAHugeLinePasses) {
  ConsoleView view(kPlain, {"a:0", "a:1"});
  std::string out;
  const std::string half(LineSplitter::kMaxLine / 2 + 1, 'x');
  view.add(Rank(0), Stream::out, half, out);
  EXPECT_EQ(out.size(), 0U);
  view.add(Rank(0), Stream::out, half, out);
  EXPECT_EQ(out.size(), half.size()) << "the first half could not be held any longer";
  view.finish(Rank(0), Stream::out, out);
  EXPECT_EQ(out.size(), 2 * half.size());
}

}  // namespace
}  // namespace dlaunch
