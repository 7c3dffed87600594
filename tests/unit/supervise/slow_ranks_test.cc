#include "supervise/slow_ranks.h"

#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using namespace std::chrono_literals;

/// Ranks that count a step every so many seconds, looked at once a second.
class Steps {
 public:
  explicit Steps(std::vector<double> seconds)
      : seconds_(std::move(seconds)), made_(seconds_.size()) {
    slow_.begin(0s);
  }
  /// What changed: "5: 2.0, 3: fine".
  std::string pass(int seconds) {
    std::string text;
    for (int i = 0; i < seconds; ++i) {
      ++now_;
      for (std::uint32_t rank = 0; rank < seconds_.size(); ++rank) {
        if (seconds_[rank] == 0) continue;
        made_[rank] += 1 / seconds_[rank];
        says_ ? slow_.time(Rank(rank), seconds_[rank])
              : slow_.count(Rank(rank), SlowRanks::Counter::step,
                            static_cast<std::uint64_t>(made_[rank] + 0.001) % epoch_);
      }
      for (const SlowRanks::Change& change : slow_.check(std::chrono::seconds(now_)))
        text += (text.empty() ? "" : ", ") + std::to_string(change.rank.value) + ": " +
                (change.is_slow ? tenths(change.times) : "fine");
    }
    return text;
  }

  static std::string tenths(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
  }

  SlowRanks slow_{60s};
  std::vector<double> seconds_;
  std::vector<double> made_;
  bool says_ = false;
  std::uint64_t epoch_ = 1'000'000;  // steps after which the count begins anew
  int now_ = 0;
};

TEST(SlowRanks, EqualRanksAreFine) {
  Steps steps({1, 1.1, 0.9, 1, 1.3});
  EXPECT_EQ(steps.pass(600), "");
}

TEST(SlowRanks, ASlowOneIsNamedOnceAndAgainWhenItIsFine) {
  Steps steps({1, 1, 2, 1});
  EXPECT_EQ(steps.pass(59), "");
  EXPECT_EQ(steps.pass(541), "2: 2.0");
  steps.seconds_[2] = 1;
  EXPECT_EQ(steps.pass(120), "2: fine");
}

TEST(SlowRanks, AnotherFactorIsNews) {
  Steps steps({1, 1, 2, 1});
  EXPECT_EQ(steps.pass(120), "2: 2.0");
  steps.seconds_[2] = 5;
  EXPECT_EQ(steps.pass(120), "2: 5.0");
}

TEST(SlowRanks, WhatRanksSayCountsMoreThanWhatTheyCount) {
  Steps steps({0.1, 0.1, 0.1, 0.3});
  steps.says_ = true;
  EXPECT_EQ(steps.pass(60), "3: 3.0");
}

TEST(SlowRanks, FewStepsSayNothing) {
  Steps steps({30, 30, 70, 30});
  EXPECT_EQ(steps.pass(140), "");  // the window goes on until there are enough
  EXPECT_EQ(steps.pass(20), "2: 2.5");
}

TEST(SlowRanks, ACountThatBeginsAnewGoesOn) {
  Steps steps({1, 1, 2, 1});
  steps.epoch_ = 20;
  EXPECT_EQ(steps.pass(300), "2: 1.9");  // a step at each new beginning is not seen
}

TEST(SlowRanks, ARankThatCountsNoMoreIsTheSlowest) {
  Steps steps({1, 1, 1, 1});
  EXPECT_EQ(steps.pass(60), "");
  steps.seconds_[1] = 1e6;
  EXPECT_EQ(steps.pass(60), "1: 120.0");
}

TEST(SlowRanks, AnotherCounterCountsFromItsFirstValue) {
  SlowRanks slow{60s};
  slow.begin(0s);
  for (std::uint64_t second = 0; second <= 60; ++second) {
    for (const std::uint32_t rank : {0U, 1U, 2U})
      slow.count(Rank(rank), SlowRanks::Counter::heartbeats, second);
    // This one has resumed at a step of before, and touches its file from the tenth on.
    second < 10 ? slow.count(Rank(3), SlowRanks::Counter::step, 120'000 + second)
                : slow.count(Rank(3), SlowRanks::Counter::heartbeats, second - 10);
  }
  EXPECT_TRUE(slow.check(60s).empty());
}

TEST(SlowRanks, TwoRanksCannotBeToldApart) {
  Steps steps({1, 5});
  EXPECT_EQ(steps.pass(300), "");
}

TEST(SlowRanks, RanksThatCountNothingAreNotCompared) {
  Steps steps({1, 1, 1, 0});
  EXPECT_EQ(steps.pass(300), "");
}

TEST(SlowRanks, ARankThatHasEndedIsForgotten) {
  Steps steps({1, 1, 4, 1});
  EXPECT_EQ(steps.pass(60), "2: 3.9");  // the first count begins the first window
  steps.slow_.ended(Rank(2));
  steps.seconds_[2] = 0;
  EXPECT_EQ(steps.pass(300), "");
}

NodePulse node_at(std::uint32_t percent, std::uint32_t mhz) {
  NodePulse node;
  node.cores = 4;
  node.cpu_percent = percent;
  node.mhz = mhz;
  return node;
}

TEST(SlowRanks, WhatStandsOutOfItsNode) {
  const std::vector others{node_at(200, 3000), node_at(210, 3100)};
  EXPECT_EQ(oddities_of(node_at(200, 2900), others), "");
  EXPECT_EQ(
      oddities_of(node_at(398, 1200), others),
      "398 % of 400 % CPU in use, 398 % not by this job's ranks, its CPUs run at 1200 MHz, those "
      "of other nodes at 3000");
  NodePulse node = node_at(100, 0);
  node.memory_stall_permille = 120;
  node.remarks = {"GPU 3: clocks are held down: heat"};
  EXPECT_EQ(oddities_of(node, others),
            "processes waited for memory for 12 % of the time, GPU 3: clocks are held down: heat");
}

TEST(SlowRanks, ANodeThatItsOwnRanksFillIsNotLoadedByOthers) {
  NodePulse node = node_at(398, 3000);
  node.ranks_cpu_percent = 360;
  EXPECT_EQ(oddities_of(node, {}), "");
  node.ranks_cpu_percent = 358;
  EXPECT_EQ(oddities_of(node, {}), "398 % of 400 % CPU in use, 40 % not by this job's ranks");
  node.ranks_cpu_percent = 500;  // measured at slightly different times
  EXPECT_EQ(oddities_of(node, {}), "");
}

}  // namespace
}  // namespace dlaunch
