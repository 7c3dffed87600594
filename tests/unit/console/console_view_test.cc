#include "launch/console/console_view.h"

#include <gtest/gtest.h>

#include <array>
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

TEST(ConsoleView, ABarIsOneLine) {
  ConsoleView view(kPrefix, {"a:0", "a:1"});
  std::string out;
  view.add(Rank(0), Stream::err, "\r 10%\r 20%", out);
  view.add(Rank(1), Stream::out, "hello\n", out);
  EXPECT_EQ(out, "a:1 | hello\n");
  EXPECT_TRUE(view.has_live_rows());
  ASSERT_EQ(view.live_rows().size(), 1U);
  EXPECT_EQ(view.live_rows()[0].prefix, "a:0 | ");
  EXPECT_EQ(view.live_rows()[0].prefix_columns, 6U);
  EXPECT_EQ(view.live_rows()[0].text, " 20%");
  view.add(Rank(0), Stream::err, "\r100%\nend\n", out);
  EXPECT_EQ(out, "a:1 | hello\na:0 | 100%\na:0 | end\n");
  EXPECT_FALSE(view.has_live_rows());
}

TEST(ConsoleView, APromptIsALiveRowUntilItIsAnswered) {
  ConsoleView view(kPrefix, {"a:0", "a:1"});
  view.show_prompts_of(Rank(0));
  std::string out;
  view.add(Rank(1), Stream::out, "no prompt", out);
  EXPECT_FALSE(view.has_live_rows());
  view.add(Rank(0), Stream::out, "> line\n(Pdb) ", out);
  EXPECT_EQ(out, "a:0 | > line\n");
  ASSERT_EQ(view.live_rows().size(), 1U);
  EXPECT_EQ(view.live_rows()[0].prefix, "a:0 | ");
  EXPECT_EQ(view.live_rows()[0].text, "(Pdb) ");
  EXPECT_TRUE(view.answered());
  EXPECT_FALSE(view.has_prompt());
  // The answer's output is on one line with the prompt, but not on the screen.
  view.add(Rank(0), Stream::out, "5\n(Pdb) ", out);
  EXPECT_EQ(out, "a:0 | > line\na:0 | 5\n");
  EXPECT_EQ(view.live_rows()[0].text, "(Pdb) ");
  view.finish(Rank(0), Stream::out, out);
  EXPECT_EQ(out, "a:0 | > line\na:0 | 5\na:0 | (Pdb) \n");
  EXPECT_FALSE(view.answered());
}

TEST(ConsoleView, ABarThatWasLeftIsHandedOutLater) {
  ConsoleView view(kPrefix, {"a:0", "a:1"});
  std::string out;
  view.add(Rank(1), Stream::err, "\r100%\n", out);
  EXPECT_EQ(out, "");
  std::array<std::string, 2> done;
  view.settle(done);
  view.settle(done);
  EXPECT_EQ(done[0], "");
  EXPECT_EQ(done[1], "a:1 | 100%\n");
  EXPECT_FALSE(view.has_live_rows());
}

TEST(ConsoleView, StatesAreShownWhenTheyHaveChanged) {
  ConsoleView view(kPrefix, {"a:0", "a:1"});
  std::string out;
  view.add(Rank(0), Stream::out, "\r 10%", out);
  view.add(Rank(1), Stream::err, "\r 30%", out);
  std::array<std::string, 2> states;
  view.show_states(states);
  EXPECT_EQ(states[0], "a:0 |  10%\n");
  EXPECT_EQ(states[1], "a:1 |  30%\n");
  states = {};
  view.add(Rank(0), Stream::out, "\r 20%", out);
  view.show_states(states);
  EXPECT_EQ(states[0], "a:0 |  20%\n");
  EXPECT_EQ(states[1], "");
}

TEST(ConsoleView, ANoteIsALineOfItsOwn) {
  std::string out;
  ConsoleView prefixed(kPrefix, {"a:0", "a:1"});
  prefixed.add(Rank(0), Stream::out, "half", out);
  prefixed.add_note(Rank(0), Stream::out, "[...]", out);
  prefixed.add(Rank(0), Stream::out, "line\n", out);
  EXPECT_EQ(out, "a:0 | half\na:0 | [...]\na:0 | line\n");
  out.clear();
  ConsoleView plain(kPlain, {"a:0"});
  plain.add(Rank(0), Stream::out, "half", out);
  plain.add_note(Rank(0), Stream::out, "[...]", out);
  plain.add_note(Rank(0), Stream::out, "[...]", out);
  EXPECT_EQ(out, "half\n[...]\n[...]\n");
}

TEST(ConsoleView, APartialLineCanBeForgotten) {
  ConsoleView view(kPrefix, {"a:0", "a:1"});
  std::string out;
  view.add(Rank(0), Stream::out, "one\nhalf", out);
  EXPECT_EQ(view.drop_partial(Rank(0), Stream::out), 4U);
  view.add(Rank(0), Stream::out, "two\n", out);
  EXPECT_EQ(out, "a:0 | one\na:0 | two\n");
}

TEST(ConsoleView, RanksThatAreNotShownTakeNoRoom) {
  ConsoleView view(kPrefix, {"node0:0", "", "node0:2"});
  std::string out;
  view.add(Rank(2), Stream::out, "x\n", out);
  EXPECT_EQ(out, "node0:2 | x\n");
  ConsoleView single(kPlain, {"", "node0:1", ""});
  out.clear();
  single.add(Rank(1), Stream::out, "no end", out);
  EXPECT_EQ(out, "no end") << "a single rank passes at once";
}

}  // namespace
}  // namespace dlaunch
