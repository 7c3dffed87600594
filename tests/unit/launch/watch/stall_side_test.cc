#include "launch/watch/stall_side.h"

#include <filesystem>

#include <gmock/gmock.h>

#include "../engine/side_fixture.h"

namespace dlaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class StallSideTest : public SideTest {
 protected:
  StallSideTest() {
    options_.spec.watch = {50ms, 10ms};
    plan_ = make_plan();
  }

  void start() {
    side_.emplace(
        loop_, options_, rounds_, store_, *screen_,
        [this](Event event) { pushed_.push_back(std::move(event)); }, 10ms);
    rounds_.set_plan(&plan_);
    side_->begin(plan_);
    for (std::uint32_t rank = 0; rank < plan_.ranks.size(); ++rank)
      side_->tell(event::RankStarted{plan_.attempt, Rank(rank), 1, WallTime()});
  }
  [[nodiscard]] std::size_t asked() const { return nodes_.sent<wire::TakeStacks>().size(); }
  /// All nodes answer the last round, of which there were `rounds`.
  void answer(std::size_t rounds) {
    ASSERT_TRUE(wait_for([&] { return asked() == rounds * kNodes; }));
    for (std::uint32_t i = 0; i < kNodes; ++i) {
      wire::StacksTaken taken{
          plan_.attempt, nodes_.sent<wire::TakeStacks>().back().second.id, "", {}};
      for (const Rank rank : plan_.nodes[i].ranks) taken.ranks.emplace_back().rank = rank;
      rounds_.on(node(i), taken);
    }
  }
  void print(std::uint32_t rank, std::uint64_t bytes) {
    wire::Pulse pulse{plan_.attempt, WallTime(), {}, {}};
    pulse.ranks.emplace_back().rank = Rank(rank);
    pulse.ranks.back().output = bytes;
    side_->on(node(rank / 2), pulse);
  }
  void pass(std::chrono::milliseconds time) {
    const MonotonicTime end = monotonic_now() + time;
    while (monotonic_now() < end) (void)loop_.run_one(end);
  }

  LaunchPlan plan_;
  StackRounds rounds_{loop_, nodes_};
  std::vector<Event> pushed_;
  std::optional<StallSide> side_;
};

TEST_F(StallSideTest, ASilenceIsLookedIntoTwiceAndTold) {
  start();
  answer(1);
  answer(2);
  ASSERT_TRUE(wait_for([&] { return !side_->seen().empty(); }));
  const StallSeen& seen = side_->seen().front();
  EXPECT_EQ(shown(), stall_text(seen, 80, false));
  ASSERT_TRUE(store_.flush());
  EXPECT_THAT(file("events.jsonl"), HasSubstr("\"event\": \"stall\""));
  int kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator(store_.folder().path() + "/stacks"))
    kept += entry.path().extension() == ".json" ? 1 : 0;
  EXPECT_EQ(kept, 2);
  ASSERT_EQ(pushed_.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<event::Stall>(pushed_.front()));
}

TEST_F(StallSideTest, NothingIsToldOfAJobThatHasMovedMeanwhile) {
  start();
  answer(1);
  print(3, 10);
  answer(2);
  EXPECT_TRUE(side_->seen().empty());
  EXPECT_EQ(shown(), "");
}

TEST_F(StallSideTest, ProgressAfterwardsIsTold) {
  start();
  answer(1);
  answer(2);
  ASSERT_TRUE(wait_for([&] { return !side_->seen().empty(); }));
  (void)shown();
  pass(20ms);
  pushed_.clear();
  print(3, 10);
  EXPECT_EQ(shown(), "dlaunch: note: the job is making progress again\n");
  ASSERT_FALSE(pushed_.empty());
  EXPECT_TRUE(std::holds_alternative<event::Progress>(pushed_.back()));
  EXPECT_TRUE(side_->seen().front().has_resumed);
}

TEST_F(StallSideTest, AfterItsLimitAJobIsGivenUpWithItsStacks) {
  options_.spec.watch.after.reset();
  options_.spec.timeouts.hang = 50ms;
  start();
  answer(1);
  EXPECT_TRUE(pushed_.empty());
  answer(2);
  ASSERT_TRUE(wait_for([&] { return pushed_.size() > 1; }));
  EXPECT_TRUE(std::holds_alternative<event::Stall>(pushed_.front()));
  const auto* hang = std::get_if<event::Hang>(&pushed_.back());
  ASSERT_NE(hang, nullptr);
  EXPECT_EQ(hang->what, "no rank made progress for 50 ms (timeouts.hang)");
  EXPECT_EQ(side_->seen().size(), 1U);
}

TEST_F(StallSideTest, TheFirstOutputAndLargerStepsAreProgress) {
  options_.spec.metrics["step"] = {};
  start();
  const auto pulse = [&](std::uint32_t rank, const char* step) {
    wire::Pulse one{plan_.attempt, WallTime(), {}, {}};
    one.ranks.emplace_back().rank = Rank(rank);
    one.ranks.back().output = 10;
    if (*step != 0) one.ranks.back().metrics = {{0, step}};
    side_->on(node(rank / 2), one);
  };
  pulse(0, "");
  pulse(1, "");
  pulse(1, "7");
  pulse(0, "6");
  pulse(0, "nan");
  pulse(0, "8");
  std::vector<std::optional<std::uint64_t>> steps;
  for (const Event& event : pushed_) steps.push_back(std::get<event::Progress>(event).step);
  EXPECT_EQ(steps, (std::vector<std::optional<std::uint64_t>>{std::nullopt, 7, 8}));
}

TEST_F(StallSideTest, ALostNodeDoesNotHoldUpTheEnd) {
  options_.spec.timeouts.hang = 50ms;
  start();
  for (std::size_t round = 1; round <= 2; ++round) {
    ASSERT_TRUE(wait_for([&] { return asked() == round * kNodes; }));
    for (std::uint32_t i = 0; i < kNodes; ++i) rounds_.node_lost(node(i));
  }
  EXPECT_TRUE(wait_for([&] { return !pushed_.empty(); }));
}

TEST_F(StallSideTest, RanksThatAreBeingStoppedAreNotWatched) {
  options_.spec.timeouts.hang = 50ms;
  start();
  ASSERT_TRUE(wait_for([&] { return asked() > 0; }));
  side_->end();
  answer(1);
  pass(100ms);
  EXPECT_EQ(asked(), kNodes);
  EXPECT_TRUE(pushed_.empty());
  EXPECT_TRUE(side_->seen().empty());
}

TEST_F(StallSideTest, NothingIsWatchedIfTheJobDoesNotWantIt) {
  options_.spec.watch.after.reset();
  start();
  pass(100ms);
  EXPECT_EQ(asked(), 0U);
}

}  // namespace
}  // namespace dlaunch
