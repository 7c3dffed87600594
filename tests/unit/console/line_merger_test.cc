#include "launch/console/line_merger.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>
#include <utility>

namespace dlaunch {
namespace {

using std::chrono::milliseconds;
using Ranks = std::set<std::uint32_t>;

struct Shown {
  Ranks ranks;
  std::string text;
  bool operator==(const Shown&) const = default;
};

Ranks ranks_of(LineMerger::Words words) {
  Ranks ranks;
  for (std::uint32_t rank = 0; rank < 64 * words.size(); ++rank) {
    if ((words[rank / 64] >> (rank % 64) & 1U) != 0) ranks.insert(rank);
  }
  return ranks;
}

class Merging {
 public:
  explicit Merging(std::size_t ranks, bool fold = false)
      : merger(std::vector<bool>(ranks, true), fold) {}

  void add(std::uint32_t rank, std::string_view text, int at_ms = 0, Stream stream = Stream::out) {
    merger.add(Rank(rank), stream, text, false, milliseconds(at_ms));
    take(at_ms);
  }
  void take(int at_ms) {
    while (const auto line = merger.next(milliseconds(at_ms))) {
      shown.push_back({ranks_of(line->ranks), std::string(line->text)});
      EXPECT_EQ(line->count, shown.back().ranks.size());
    }
  }

  LineMerger merger;
  std::vector<Shown> shown;
};

TEST(LineMerger, ALineOfAllRanksIsShownAtOnce) {
  Merging lines(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) lines.add(rank, "epoch 1");
  EXPECT_EQ(lines.shown, (std::vector<Shown>{{{0, 1, 2}, "epoch 1"}}));
  EXPECT_FALSE(lines.merger.due());
}

TEST(LineMerger, ALineWaitsForOthersAndNoLonger) {
  Merging lines(3);
  lines.add(0, "epoch 1", 0);
  lines.add(1, "epoch 1", 60);
  EXPECT_TRUE(lines.shown.empty());
  EXPECT_EQ(lines.merger.due(), LineMerger::kWait);
  lines.take(99);
  EXPECT_TRUE(lines.shown.empty());
  lines.take(100);
  EXPECT_EQ(lines.shown, (std::vector<Shown>{{{0, 1}, "epoch 1"}}));
  lines.add(2, "epoch 1", 110);
  lines.take(210);
  EXPECT_EQ(lines.shown.back(), (Shown{{2}, "epoch 1"}));
}

TEST(LineMerger, SequencesMerge) {
  Merging lines(2);
  for (const char* text : {"A", "B", "C"}) lines.add(0, text);
  for (const char* text : {"A", "B", "C"}) lines.add(1, text, 5);
  EXPECT_EQ(lines.shown, (std::vector<Shown>{{{0, 1}, "A"}, {{0, 1}, "B"}, {{0, 1}, "C"}}));
}

TEST(LineMerger, WhatARankHasLeftOutIsShownBefore) {
  Merging lines(2);
  lines.add(0, "A");
  lines.add(0, "B");
  lines.add(1, "B");
  EXPECT_EQ(lines.shown, (std::vector<Shown>{{{0}, "A"}, {{0, 1}, "B"}}));
}

TEST(LineMerger, ARankNeverJoinsALineAboveItsLastOne) {
  Merging lines(3);
  lines.add(0, "A");
  lines.add(0, "B");
  lines.add(1, "B");
  lines.add(1, "A");
  lines.take(100);
  EXPECT_EQ(lines.shown, (std::vector<Shown>{{{0}, "A"}, {{0, 1}, "B"}, {{1}, "A"}}));
}

TEST(LineMerger, RepeatedLinesAreAsManyAsPrinted) {
  Merging lines(2);
  for (int i = 0; i < 3; ++i) lines.add(0, "x");
  for (int i = 0; i < 2; ++i) lines.add(1, "x");
  lines.take(100);
  EXPECT_EQ(lines.shown, (std::vector<Shown>{{{0, 1}, "x"}, {{0, 1}, "x"}, {{0}, "x"}}));
}

TEST(LineMerger, StdoutAndStderrAreNotEqualAndKeepTheirOrder) {
  Merging lines(2);
  lines.add(0, "x", 0, Stream::out);
  lines.add(0, "x", 1, Stream::err);
  lines.add(1, "x", 2, Stream::err);  // complete, below a line that waits
  lines.add(1, "x", 3, Stream::out);
  EXPECT_EQ(lines.shown, (std::vector<Shown>{{{0, 1}, "x"}, {{0, 1}, "x"}}));
}

TEST(LineMerger, AContinuationIsNoLine) {
  LineMerger merger({true, true}, false);
  merger.add(Rank(0), Stream::out, "x", true, milliseconds(0));
  merger.add(Rank(1), Stream::out, "x", false, milliseconds(0));
  const auto line = merger.next(milliseconds(100));
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->continues);
  EXPECT_EQ(line->count, 1U);
}

TEST(LineMerger, AStreamThatHasEndedIsNotWaitedFor) {
  Merging lines(3);
  lines.add(0, "done");
  lines.add(1, "done");
  lines.merger.end(Rank(1), Stream::out);
  lines.take(0);
  EXPECT_TRUE(lines.shown.empty()) << "rank 2 may still print it";
  lines.merger.end(Rank(2), Stream::out);
  lines.merger.end(Rank(2), Stream::out);
  lines.take(0);
  EXPECT_EQ(lines.shown, (std::vector<Shown>{{{0, 1}, "done"}}));
  lines.add(0, "alone");
  EXPECT_EQ(lines.shown.back(), (Shown{{0}, "alone"}));
  lines.add(0, "err", 0, Stream::err);
  EXPECT_EQ(lines.shown.size(), 2U) << "the other streams are open";
}

TEST(LineMerger, RanksThatAreNotShownAreNotWaitedFor) {
  LineMerger merger({true, false, true}, false);
  merger.add(Rank(0), Stream::out, "x", false, milliseconds(0));
  merger.add(Rank(2), Stream::out, "x", false, milliseconds(0));
  EXPECT_TRUE(merger.next(milliseconds(0)));
}

TEST(LineMerger, AFloodIsNotHeld) {
  Merging many(2);
  for (std::size_t i = 0; i < LineMerger::kMostLines; ++i) many.add(0, std::to_string(i));
  EXPECT_EQ(many.shown.size(), 0U);
  for (std::size_t i = 0; i < 2 * LineMerger::kMostLines; ++i) many.add(0, std::to_string(i));
  EXPECT_EQ(many.shown.size(), 3 * LineMerger::kMostLines - LineMerger::kFewLines);
  many.take(100);
  for (std::size_t i = 0; i < LineMerger::kMostLines; ++i) many.add(0, "again", 100);
  EXPECT_EQ(many.shown.size(), 3 * LineMerger::kMostLines) << "the flood was over";
  Merging large(2);
  const std::string text(LineMerger::kMostBytes / 4, 'x');
  for (int i = 0; i < 10; ++i) large.add(0, text + std::to_string(i));
  EXPECT_EQ(large.shown.size(), 7U);
  EXPECT_EQ(large.shown.front().text, text + "0");
}

TEST(LineMerger, RecentLinesKnowTheirRanks) {
  Merging lines(70);
  for (std::uint32_t rank = 0; rank < 70; ++rank) lines.add(rank, "all");
  lines.add(69, "one");
  lines.add(3, "err", 0, Stream::err);
  lines.take(100);
  const auto recent = [&](std::uint32_t rank, std::size_t window, bool of_both) {
    return lines.merger.recent(Rank(rank), Stream::out, window, of_both);
  };
  EXPECT_EQ(recent(69, 10, true), 2U);
  EXPECT_EQ(recent(69, 2, true), 1U);
  EXPECT_EQ(recent(69, 2, false), 2U);
  EXPECT_EQ(recent(3, 10, true), 1U);
}

TEST(LineMerger, LinesThatDifferInOneNumberFold) {
  Merging lines(4, true);
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    lines.add(rank, "loaded shard " + std::to_string(rank) + " of 4");
  EXPECT_EQ(lines.shown, (std::vector<Shown>{{{0, 1, 2, 3}, "loaded shard <0-3> of 4"}}));
}

TEST(LineMerger, AnEqualLineIsPreferredToOneThatFolds) {
  Merging lines(2, true);
  lines.add(0, "step 1");
  lines.add(0, "step 2");
  lines.add(1, "step 2");
  EXPECT_EQ(lines.shown, (std::vector<Shown>{{{0}, "step 1"}, {{0, 1}, "step 2"}}));
}

/// Each rank's lines come out as they went in, none later than kWait, whatever is printed when.
void any_input(bool fold) {
  const auto ranks = *rc::gen::inRange<std::uint32_t>(1, 80);
  const auto kinds = *rc::gen::inRange<int>(1, 12);
  const auto count = *rc::gen::inRange<int>(0, 1500);
  LineMerger merger(std::vector<bool>(ranks, true), fold);
  using Source = std::pair<std::uint32_t, Stream>;
  std::map<Source, std::vector<std::pair<std::string, MonotonicTime>>> printed;
  std::map<Source, std::size_t> seen;
  MonotonicTime now{};
  const auto take = [&] {
    while (const auto line = merger.next(now)) {
      for (const std::uint32_t rank : ranks_of(line->ranks)) {
        const Source source{rank, line->stream};
        RC_ASSERT(seen[source] < printed[source].size());
        const auto& [text, since] = printed[source][seen[source]++];
        if (!fold) RC_ASSERT(text == line->text);
        RC_ASSERT(now - since <= LineMerger::kWait);
      }
    }
    RC_ASSERT(!merger.due() || *merger.due() > now);
  };
  const auto random = rc::gen::arbitrary<std::uint32_t>();
  std::set<Source> ended;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t what = *random;
    const Source source{what % ranks, (what >> 8U) % 3 == 0 ? Stream::err : Stream::out};
    const MonotonicTime later = now + milliseconds((what >> 12U) % 8 == 0 ? 30 : 0);
    while (merger.due() && *merger.due() <= later) {
      now = *merger.due();
      take();
    }
    now = later;
    if ((what >> 16U) % 50 == 0) {
      merger.end(Rank(source.first), source.second);
      ended.insert(source);
    } else if (!ended.contains(source)) {
      const std::string text =
          "line " + std::to_string((what >> 20U) % static_cast<unsigned>(kinds));
      printed[source].emplace_back(text, now);
      merger.add(Rank(source.first), source.second, text, false, now);
    }
    take();
  }
  merger.show_all();
  take();
  for (const auto& [source, texts] : printed) RC_ASSERT(seen[source] == texts.size());
}

TEST(LineMerger, NoLineIsLostMovedOrLate) {
  EXPECT_TRUE(rc::check("equal lines", [] { any_input(false); }));
  EXPECT_TRUE(rc::check("folded numbers", [] { any_input(true); }));
}

}  // namespace
}  // namespace dlaunch
