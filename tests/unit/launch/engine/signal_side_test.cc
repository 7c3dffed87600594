#include "launch/engine/signal_side.h"

#include <csignal>

#include "side_fixture.h"

namespace dlaunch {
namespace {

class SignalSideTest : public SideTest {
 protected:
  SignalSideTest() {
    signals_.emplace(loop_, options_, "", nodes_, store_, *screen_, UniqueFd(),
                     [this](Event event) { events_.push_back(std::move(event)); });
  }

  LaunchPlan plan_ = make_plan();
  std::vector<Event> events_;
  std::optional<SignalSide> signals_;
};

TEST_F(SignalSideTest, WhatEndsTheRunIsAnEventAndSentToNoNode) {
  signals_->begin(plan_);
  signals_->from_front(SIGINT);
  EXPECT_EQ(events_, std::vector<Event>{event::CancelSignal{SIGINT}});
  EXPECT_TRUE(nodes_.sent_.empty());
}

TEST_F(SignalSideTest, ASecondOneCountsToo) {
  signals_->from_front(SIGINT);
  signals_->from_front(SIGINT);
  EXPECT_EQ(events_.size(), 2U);
}

TEST_F(SignalSideTest, WhatIsForTheRanksGoesToTheNodesThatHaveSome) {
  plan_.nodes[1].ranks.clear();
  signals_->begin(plan_);
  signals_->from_front(SIGUSR1);
  EXPECT_TRUE(events_.empty());
  const auto sent = nodes_.sent<wire::SignalRanks>();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].first, node(0));
  EXPECT_EQ(sent[1].first, node(2));
  EXPECT_EQ(sent[1].second.signal, SIGUSR1);
}

TEST_F(SignalSideTest, NoRankGetsOneBeforeItsStartOrAfterItsAttempt) {
  signals_->from_front(SIGUSR1);
  signals_->begin(plan_);
  signals_->end();
  signals_->from_front(SIGUSR1);
  EXPECT_TRUE(nodes_.sent_.empty());
}

TEST_F(SignalSideTest, ASignalOfTheSchedulerThatAllNodesTellOfEndsTheRunOnce) {
  for (std::uint32_t place = 0; place < kNodes; ++place)
    signals_->on(node(place), wire::Signalled{SIGTERM});
  EXPECT_EQ(events_, std::vector<Event>{event::CancelSignal{SIGTERM}});
}

TEST_F(SignalSideTest, AWarningThatAllNodesTellOfIsPassedOnce) {
  signals_->begin(plan_);
  for (std::uint32_t place = 0; place < kNodes; ++place)
    signals_->on(node(place), wire::Signalled{SIGUSR2});
  EXPECT_TRUE(events_.empty());
  EXPECT_EQ(nodes_.sent<wire::SignalRanks>().size(), kNodes);
}

}  // namespace
}  // namespace dlaunch
