#include "sync/pace.h"

#include <gtest/gtest.h>

namespace dlaunch::sync {
namespace {

/// A chain of links with these rates, in blocks for each period. The launcher sends without limit.
class PaceTest : public testing::Test {
 protected:
  void chain(std::vector<std::uint64_t> rates) {
    rates_ = std::move(rates);
    nodes_.assign(rates_.size(), {});
    for (std::size_t i = 1; i < nodes_.size(); ++i) nodes_[i].source = i - 1;
    (void)pace_.watch(nodes_, now_);
  }
  /// Each node gets what its link carries, as far as its source has it.
  std::optional<Pace::Verdict> period() {
    std::optional<Pace::Verdict> verdict;
    constexpr int kTicks = 4;
    for (int tick = 0; tick < kTicks; ++tick) {
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        Pace::Progress& node = nodes_[i];
        const std::uint64_t limit = node.source ? nodes_[*node.source].position : total_;
        node.position = std::min(limit, node.position + rates_[i] / kTicks);
        node.is_over = node.is_over || node.position == total_;
      }
      now_ += Pace::kPeriod / kTicks;
      if (const auto said = pace_.watch(nodes_, now_)) verdict = said;
    }
    return verdict;
  }
  /// The node that is named within so many periods.
  std::optional<std::size_t> named(int periods) {
    for (int i = 0; i < periods; ++i) {
      if (const auto verdict = period()) return verdict->node;
    }
    return std::nullopt;
  }
  /// As the chain does: it comes last, and those that it has fed go on from its source.
  void move_to_end(std::size_t node, std::size_t last) {
    for (Pace::Progress& one : nodes_) {
      if (one.source != node) continue;
      one.source = nodes_[node].source;
      ++one.link;
    }
    nodes_[node].source = last;
    ++nodes_[node].link;
  }

  Pace pace_;
  std::vector<std::uint64_t> rates_;
  std::vector<Pace::Progress> nodes_;
  std::uint64_t total_ = 1'000'000;
  MonotonicTime now_{1'000'000'000'000};
};

TEST_F(PaceTest, LinksThatAreAboutAsFast) {
  chain({1000, 400, 1000, 300});
  EXPECT_EQ(named(50), std::nullopt);
}

TEST_F(PaceTest, ANodeThatHoldsUpTheOthersIsNamedOnce) {
  chain({1000, 100, 1000, 1000});
  EXPECT_EQ(named(2), std::nullopt) << "it may be a moment";
  const auto verdict = period();
  EXPECT_EQ(verdict, (Pace::Verdict{1, 0, 1, 100, 1000}));
  EXPECT_EQ(named(50), std::nullopt);
}

TEST_F(PaceTest, AMomentDoesNotCount) {
  chain({1000, 1000, 1000});
  for (int i = 0; i < 20; ++i) {
    rates_[1] = i % 3 == 0 ? 100 : 2000;
    EXPECT_EQ(period(), std::nullopt);
  }
}

TEST_F(PaceTest, TheLastNodeHoldsUpNone) {
  chain({1000, 1000, 100});
  EXPECT_EQ(named(50), std::nullopt);
}

TEST_F(PaceTest, ASlowLaunchersLinkIsNobodysFault) {
  chain({100, 1000, 1000, 1000});
  EXPECT_EQ(named(50), std::nullopt);
}

TEST_F(PaceTest, ItsSourceMayBeDoneBefore) {
  total_ = 1500;
  chain({1000, 100, 1000});
  EXPECT_EQ(named(4), 1U);
}

TEST_F(PaceTest, ALinkThatBringsNothingIsBroken) {
  chain({1000, 1000, 1000});
  rates_[1] = 0;
  EXPECT_EQ(named(50), std::nullopt);
}

TEST_F(PaceTest, ANewConnectionIsJudgedAnew) {
  chain({1000, 100, 1000});
  EXPECT_EQ(named(2), std::nullopt);
  ++nodes_[1].link;
  EXPECT_EQ(named(2), std::nullopt);
  EXPECT_EQ(named(1), 1U);
}

TEST_F(PaceTest, TwoSlowNodes) {
  chain({1000, 100, 1000, 100, 1000});
  EXPECT_EQ(named(5), 1U);
  move_to_end(1, 4);
  EXPECT_EQ(named(5), 3U);
  move_to_end(3, 1);
  EXPECT_EQ(named(50), std::nullopt);
}

TEST_F(PaceTest, TwoSlowNodesThatAreNeighbours) {
  chain({1000, 100, 100, 1000, 1000});
  EXPECT_EQ(named(5), 1U);
  move_to_end(1, 4);
  EXPECT_EQ(named(5), 2U) << "the first one sends fast, as will be seen";
  move_to_end(2, 1);
  EXPECT_EQ(named(50), std::nullopt);
}

TEST_F(PaceTest, ANodeThatSendsSlowly) {
  chain({1000, 100, 1000, 1000, 1000});  // what the first one sends is slow, whoever gets it
  EXPECT_EQ(named(5), 1U);
  move_to_end(1, 4);
  rates_ = {1000, 1000, 100, 1000, 1000};
  EXPECT_EQ(named(5), 2U) << "it may be slow itself";
  move_to_end(2, 1);
  rates_ = {1000, 1000, 1000, 100, 1000};
  EXPECT_EQ(named(5), 0U);
  EXPECT_EQ(named(50), std::nullopt);
}

TEST_F(PaceTest, ANodeThatSendsSlowlyToAllThatThereAre) {
  chain({1000, 100, 1000});
  EXPECT_EQ(named(5), 1U);
  move_to_end(1, 2);
  rates_ = {1000, 1000, 100};
  EXPECT_EQ(named(5), 0U);
}

}  // namespace
}  // namespace dlaunch::sync
