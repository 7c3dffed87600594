#include "launch/engine/run_job.h"

#include <deque>
#include <functional>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

/// A scripted engine: answers each action with the events it would cause, without a process.
class FakeEngine : public Engine {
 public:
  Result<Event> wait(std::optional<MonotonicTime> deadline) override {
    if (events_.empty()) {
      if (!deadline) return fail(exit_code::kInternal, "the script has ended");
      now_ = *deadline;
      return event::Tick{};
    }
    Event event = events_.front();
    events_.pop_front();
    return event;
  }
  void tell(const Event& event) override {
    told_.push_back(event);
    if (on_tell_) on_tell_(event);
  }
  Status perform(const Action& action) override {
    actions_.push_back(action);
    if (std::holds_alternative<action::ConnectNode>(action))
      events_.push_back(event::NodeReady{NodeId(0)});
    if (std::holds_alternative<action::MakePlan>(action)) {
      events_.push_back(event::PlanMade{Attempt(0), {NodeId(0), NodeId(0)}, {}});
    }
    if (std::holds_alternative<action::StartRanks>(action)) {
      events_.insert(events_.end(), after_start_.begin(), after_start_.end());
    }
    if (answers_kill_ && std::holds_alternative<action::KillRanks>(action)) {
      events_.push_back(event::NodeEmpty{Attempt(0), NodeId(0), 0});
    }
    return {};
  }
  MonotonicTime now() const override { return now_; }

  std::vector<Event> after_start_;
  bool answers_kill_ = true;
  std::vector<Action> actions_;
  std::vector<Event> told_;
  std::function<void(const Event&)> on_tell_;

 private:
  std::deque<Event> events_;
  MonotonicTime now_{1};
};

constexpr EndLimits kLimits{std::chrono::seconds(30), std::chrono::seconds(10)};

SupervisorConfig config() {
  SupervisorConfig config;
  config.stop_grace = std::chrono::seconds(30);
  config.connect_limit = std::chrono::seconds(30);
  return config;
}

event::RankExited exited(std::uint32_t rank, int code) {
  return {Attempt(0), Rank(rank), ExitStatus{false, code, false}, WallTime(std::chrono::seconds(1)),
          false};
}

TEST(RunJob, SucceedsWhenEveryRankHasEndedWell) {
  FakeEngine engine;
  engine.after_start_ = {exited(0, 0), exited(1, 0), event::NodeEmpty{Attempt(0), NodeId(0), 0}};
  Supervisor supervisor(config());
  const auto report = run_job(engine, supervisor, kLimits);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome.cause, Cause::success);
  EXPECT_EQ(report->outcome.exit_code, 0);
  EXPECT_TRUE(std::holds_alternative<action::Finish>(engine.actions_.back()));
}

TEST(RunJob, TheSupervisorHearsOfAnEventBeforeAnyOtherPart) {
  FakeEngine engine;
  engine.after_start_ = {exited(0, 0), exited(1, 0), event::NodeEmpty{Attempt(0), NodeId(0), 0}};
  Supervisor supervisor(config());
  engine.on_tell_ = [&](const Event& event) {
    // The supervisor has moved on by then, but its actions have not begun.
    if (std::holds_alternative<event::PlanMade>(event)) {
      EXPECT_EQ(supervisor.phase(), Phase::run);
      EXPECT_FALSE(std::holds_alternative<action::StartRanks>(engine.actions_.back()));
    }
    if (std::holds_alternative<event::NodeEmpty>(event)) EXPECT_TRUE(supervisor.done());
  };
  ASSERT_TRUE(run_job(engine, supervisor, kLimits));
  EXPECT_EQ(engine.told_.size(), 5U);  // ready, planned, two ends, empty
}

TEST(RunJob, RanksThatIgnoreTheStopSignalAreKilledAfterTheGraceTime) {
  FakeEngine engine;
  engine.after_start_ = {exited(1, 7)};  // rank 0 never ends
  Supervisor supervisor(config());
  const auto report = run_job(engine, supervisor, kLimits);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome.exit_code, 7);
  EXPECT_EQ(report->outcome.first, Rank(1));
  EXPECT_GE(engine.now(), std::chrono::seconds(30));
}

/// A supervisor that takes an hour instead of 10 s simulates one that never ends.
TEST(RunJob, GivesUpASupervisorThatDoesNotEndWhatItWasToldToEnd) {
  for (const std::vector<Event>& told :
       {std::vector<Event>{event::CancelSignal{2}, event::CancelSignal{2}},
        std::vector<Event>{event::CancelSignal{15}}, std::vector<Event>{event::FrontGone{}}}) {
    FakeEngine engine;
    engine.after_start_ = told;
    engine.answers_kill_ = false;
    SupervisorConfig slow = config();
    slow.stop_grace = slow.end_limit = std::chrono::hours(1);
    Supervisor supervisor(slow);
    const auto report = run_job(engine, supervisor, kLimits);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().exit_code, exit_code::kInternal);
    EXPECT_LE(engine.now(), kLimits.stop_grace + 3 * kLimits.end_limit + std::chrono::seconds(10));
  }
}

TEST(RunJob, DoesNotGiveUpWhereNodesAreLostAtTheLastMoment) {
  FakeEngine engine;
  engine.after_start_ = {event::CancelSignal{2}};
  engine.answers_kill_ = false;
  Supervisor supervisor(config());
  const auto report = run_job(engine, supervisor, kLimits);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome.cause, Cause::cancelled);
}

TEST(LastLimit, OnlyACancelOrTheEndOfTheFrontBeginsIt) {
  LastLimit limit(kLimits);
  limit.note(event::Tick{}, std::chrono::seconds(1));
  limit.note(event::Deadline{}, std::chrono::seconds(1));
  EXPECT_FALSE(limit.due());
  EXPECT_FALSE(limit.is_over(std::chrono::hours(1)));
  limit.note(event::FrontGone{}, std::chrono::seconds(1));
  EXPECT_EQ(limit.due(), std::chrono::seconds(46));  // grace, SIGKILL, and 5 s
  limit.note(event::CancelSignal{15}, std::chrono::seconds(2));
  EXPECT_EQ(limit.due(), std::chrono::seconds(17));
}

// The engine was stopped for a minute: the supervisor kills only now.
TEST(LastLimit, GivesALauncherThatWasStoppedTheTimeOnceMore) {
  LastLimit limit(kLimits);
  limit.note(event::CancelSignal{15}, std::chrono::seconds(1));
  EXPECT_FALSE(limit.is_over(std::chrono::seconds(100)));
  EXPECT_FALSE(limit.is_over(std::chrono::seconds(114)));
  EXPECT_TRUE(limit.is_over(std::chrono::seconds(115)));
}

TEST(RunJob, AnErrorOfTheEngineEndsTheLauncher) {
  FakeEngine engine;
  SupervisorConfig patient = config();
  Supervisor supervisor(patient);
  class Broken : public FakeEngine {
    Status perform(const Action&) override { return fail(exit_code::kInternal, "broken"); }
  } broken;
  const auto report = run_job(broken, supervisor, kLimits);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message, "broken");
}

}  // namespace
}  // namespace dlaunch
