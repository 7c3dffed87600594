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

constexpr ConsoleOptions kMerged{true, false, true};

/// A view whose lines wait for others, as OutputRouter uses it.
class MergedView {
 public:
  explicit MergedView(ConsoleOptions options = kMerged, std::size_t ranks = 4)
      : view(options, std::vector<std::string>(ranks, "node0:0")) {}

  std::string add(std::uint32_t rank, std::string_view bytes, Stream stream = Stream::out) {
    view.add(Rank(rank), stream, bytes, unused);
    EXPECT_EQ(unused, "");
    return take();
  }
  std::string finish(std::uint32_t rank, Stream stream = Stream::out) {
    view.finish(Rank(rank), stream, unused);
    return take();
  }
  std::string wait() {
    now += LineMerger::kWait;
    view.set_time(now);
    return take();
  }
  std::string take() {
    std::string text;
    for (const ConsoleView::Piece& piece : view.take_merged()) text += piece.text;
    return text;
  }

  ConsoleView view;
  MonotonicTime now{};
  std::string unused;
};

TEST(MergedConsoleView, ShowsTheRanksOfALine) {
  MergedView lines;
  EXPECT_EQ(lines.add(0, "epoch 1\r\nepo"), "");
  EXPECT_EQ(lines.add(1, "epoch 1\n"), "");
  EXPECT_EQ(lines.add(3, "epoch 1\n"), "");
  EXPECT_EQ(lines.add(2, "epoch 1\nrank 2\n"), "[0-3] epoch 1\n");
  EXPECT_EQ(lines.add(0, "ch 2\n"), "");
  EXPECT_EQ(lines.wait(), "[2] rank 2\n[0] epoch 2\n");
  lines.add(3, "x\n");
  lines.add(0, "x\n");
  EXPECT_EQ(lines.wait(), "[0,3] x\n");
}

TEST(MergedConsoleView, AScatteredSetTakesLittleRoom) {
  MergedView lines(kMerged, 200);
  for (std::uint32_t rank = 0; rank < 200; rank += 2) lines.add(rank, "x\n");
  EXPECT_EQ(lines.wait(), "[0,2,4,6,8,10,12,14,16,18 and 90 more] x\n");
}

TEST(MergedConsoleView, WithoutPrefixThereAreLinesOnly) {
  MergedView lines({false, false, true});
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(lines.add(rank, "a\n"), "");
  EXPECT_EQ(lines.add(3, "a\nb"), "a\n");
  EXPECT_EQ(lines.finish(3), "");
  EXPECT_EQ(lines.wait(), "b\n");
}

TEST(MergedConsoleView, Colours) {
  MergedView lines({true, true, true}, 2);
  lines.add(0, "one\ntwo\n");
  EXPECT_EQ(lines.add(1, "two\n"), "\x1b[0;36m[0]\x1b[0m one\n\x1b[0;1m[0-1]\x1b[0m two\n");
}

TEST(MergedConsoleView, PartsOfALongLineMerge) {
  MergedView lines(kMerged, 2);
  const std::string part(LineSplitter::kMaxLine, 'x');
  lines.add(0, part + "yy\n");
  EXPECT_EQ(lines.add(1, part + "yy\n"), "[0-1] " + part + "\n[0-1]+ yy\n");
}

TEST(MergedConsoleView, WhatIsLeftAtTheEndDoesNotWait) {
  MergedView lines(kMerged, 2);
  EXPECT_EQ(lines.add(0, "whole\npart"), "");
  EXPECT_EQ(lines.finish(0), "");
  EXPECT_EQ(lines.finish(1), "[0] whole\n[0] part\n");
  EXPECT_FALSE(lines.view.merged_due());
}

TEST(MergedConsoleView, ANoteKeepsItsPlace) {
  MergedView lines(kMerged, 2);
  lines.add(0, "before\npart");
  lines.view.add_note(Rank(0), Stream::out, "[... lost]", lines.unused);
  lines.add(0, "after\n");
  EXPECT_EQ(lines.wait(), "[0] before\n[0] part\n[0] [... lost]\n[0] after\n");
}

TEST(MergedConsoleView, BarsAreRowsOfTheirRanksAndLinesWhenComplete) {
  MergedView lines(kMerged, 2);
  lines.add(0, "  0%\r 50%", Stream::err);
  lines.add(1, "  0%\r 90%", Stream::err);
  const auto rows = lines.view.live_rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].prefix, "[1] ");
  EXPECT_EQ(rows[1].prefix_columns, 4U);
  std::array<std::string, 2> states;
  lines.view.show_states(states);
  EXPECT_EQ(lines.wait(), "[0]  50%\n[1]  90%\n");
  for (const std::uint32_t rank : {0U, 1U}) lines.add(rank, "\r100%\n", Stream::err);
  EXPECT_EQ(lines.finish(0, Stream::err), "");
  EXPECT_EQ(lines.finish(1, Stream::err), "[0-1] 100%\n");
  EXPECT_EQ(states, (std::array<std::string, 2>{}));
}

TEST(MergedConsoleView, LinesAboveAPromptDoNotWait) {
  MergedView lines(kMerged, 2);
  lines.view.show_prompts_of(Rank(0));
  EXPECT_EQ(lines.add(0, "Which one?\n"), "");
  EXPECT_EQ(lines.add(0, "> "), "[0] Which one?\n");
  EXPECT_TRUE(lines.view.answered());
  lines.add(0, "thanks\n");
  EXPECT_EQ(lines.wait(), "[0] thanks\n");
}

TEST(MergedConsoleView, PiecesKeepTheOrderOfTheStreams) {
  MergedView lines(kMerged, 1);
  lines.view.add(Rank(0), Stream::out, "a\n", lines.unused);
  lines.view.add(Rank(0), Stream::err, "b\n", lines.unused);
  lines.view.add(Rank(0), Stream::out, "c\n", lines.unused);
  const auto pieces = lines.view.take_merged();
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[1].stream, Stream::err);
  EXPECT_EQ(pieces[2].text, "[0] c\n");
}

}  // namespace
}  // namespace dlaunch
