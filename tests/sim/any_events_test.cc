// Whatever events a supervisor gets, in whatever order: a limit, or two cancels, end the run. Some
// events answer its requests, the others are arbitrary; in some runs a row of its lifecycle is
// missing. A failure names the seed:
//   DLAUNCH_SIM_SEED=17 test_sim     repeats it; DLAUNCH_SIM_SEEDS=100000 runs more of them.
#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "simulated_cluster.h"
#include "seeds.h"

namespace dlaunch::sim {
namespace {

using namespace std::chrono_literals;

class AnyRun {
 public:
  explicit AnyRun(std::uint64_t seed)
      : dice_(seed), config_(draw_config()), table_(draw_table()), supervisor_(config_, table_) {
    ranks_ = static_cast<std::uint32_t>(dice_.between(1, 6));
    perform(supervisor_.start(now_));
  }

  /// The number of events of a run.
  void happen(std::uint64_t events) {
    for (; events > 0 && !supervisor_.done(); --events) {
      const auto due = supervisor_.deadline();
      if (due && dice_.chance((1 - calm_) / 2)) {
        tick(*due);
        continue;
      }
      now_ += dice_.chance(0.5) ? 0ns : dice_.time(0ns, 3s);
      const bool answers = !expected_.empty() && dice_.chance(calm_);
      tell(answers ? take_expected() : any_event());
    }
    tell(event::Copying{false});
  }
  void cancel() {
    constexpr std::array kSignals = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};
    if (dice_.chance(0.3)) return tell(event::FrontGone{});
    tell(event::CancelSignal{kSignals[dice_.between(0, kSignals.size() - 1)]});
  }
  /// Until it is done, or waits for nothing, or the time has passed.
  void wait(MonotonicTime most) {
    const MonotonicTime end = now_ + most;
    while (!supervisor_.done()) {
      const auto due = supervisor_.deadline();
      if (!due || *due > end) return;
      tick(*due);
    }
  }

  [[nodiscard]] const SupervisorConfig& config() const { return config_; }
  [[nodiscard]] bool has_all_steps() const { return table_.size() == lifecycle().size(); }
  [[nodiscard]] bool done() const { return supervisor_.done(); }
  [[nodiscard]] Phase phase() const { return supervisor_.phase(); }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  SupervisorConfig draw_config() {
    SupervisorConfig config;
    nodes_ = static_cast<std::uint32_t>(dice_.between(1, 3));
    config.nodes.clear();
    for (std::uint32_t i = 0; i < nodes_; ++i) config.nodes[NodeId{i}] = "";
    config.stop_grace = std::array<Duration, 3>{0ms, 200ms, 30s}[dice_.between(0, 2)];
    config.connect_limit = 30s;
    config.run_limit = Duration(dice_.between(1, 60'000));
    config.return_limit = std::array<Duration, 2>{1s, 30s}[dice_.between(0, 1)];
    if (dice_.chance(0.2)) config.stragglers_limit = Duration(dice_.between(0, 20'000));
    config.restart.max = static_cast<int>(dice_.between(0, 3));
    config.restart.backoff_min = std::array<Duration, 2>{0ms, 5s}[dice_.between(0, 1)];
    config.restart.backoff_max = config.restart.backoff_min;
    config.port_retries = dice_.chance(0.3) ? 3 : 0;
    return config;
  }
  std::vector<Transition> draw_table() {
    std::vector<Transition> table(lifecycle().begin(), lifecycle().end());
    if (dice_.chance(0.2))
      table.erase(table.begin() + static_cast<std::ptrdiff_t>(dice_.between(0, table.size() - 1)));
    return table;
  }

  // ---- events

  void tell(const Event& event) {
    const bool was_done = supervisor_.done();
    const auto actions = supervisor_.on(event, now_);
    if (was_done && !actions.empty()) wrong_ = "it acts after Finish";
    perform(actions);
    const auto due = supervisor_.deadline();
    if (due && *due <= now_) wrong_ = "a deadline that has passed";
    if (due && supervisor_.done()) wrong_ = "a deadline after Finish";
  }
  void tick(MonotonicTime due) {
    now_ = std::max(now_, due);
    tell(event::Tick{});
  }

  void perform(const std::vector<Action>& actions) {
    for (std::size_t i = 0; i < actions.size(); ++i) {
      std::visit([this](const auto& a) { expect(a); }, actions[i]);
      const auto* finish = std::get_if<action::Finish>(&actions[i]);
      if (finish == nullptr) continue;
      if (i + 1 != actions.size() || std::exchange(finished_, true)) wrong_ = "Finish is not last";
      const std::string& why = finish->report.outcome.detail;
      const bool mistake = why.find("no step") != std::string::npos ||
                           why.find("nothing can end") != std::string::npos;
      if (mistake && has_all_steps()) wrong_ = why;
    }
  }
  template <class A>
  void expect(const A& a) {
    if constexpr (requires { a.attempt; }) attempt_ = a.attempt;
    if constexpr (std::is_same_v<A, action::ConnectNode> || std::is_same_v<A, action::GatherFacts>)
      expected_.emplace_back(event::NodeReady{a.node, a.attempt});
    if constexpr (std::is_same_v<A, action::MakePlan>) expected_.emplace_back(any_plan());
    if constexpr (std::is_same_v<A, action::StartRanks>) {
      for (std::uint32_t r = 0; r < ranks_; ++r)
        expected_.emplace_back(event::RankStarted{a.attempt, Rank{r}, 1, wall(now_)});
      expected_.emplace_back(
          event::RankExited{a.attempt, Rank{0}, {false, 3, false}, wall(now_), false});
      expected_.emplace_back(event::NodeEmpty{a.attempt, a.node, 0});
    }
    if constexpr (std::is_same_v<A, action::StopRanks> || std::is_same_v<A, action::KillRanks>) {
      for (std::uint32_t r = 0; r < ranks_; ++r)
        expected_.emplace_back(
            event::RankExited{a.attempt, Rank{r}, {true, SIGTERM, false}, wall(now_), true});
      expected_.emplace_back(event::NodeEmpty{a.attempt, a.node, 0});
    }
  }
  Event take_expected() {
    const std::size_t i = dice_.between(0, std::min<std::size_t>(expected_.size() - 1, 3));
    Event event = expected_[i];
    expected_.erase(expected_.begin() + static_cast<std::ptrdiff_t>(i));
    return event;
  }
  Event any_plan() {
    event::PlanMade plan{attempt_, {}};
    for (std::uint32_t r = 0; r < ranks_; ++r)
      plan.node_of_rank.emplace_back(r % nodes_ + (dice_.chance(0.005) ? 7 : 0));
    if (dice_.chance(0.2)) plan.decides.assign(ranks_, dice_.chance(0.5));
    if (dice_.chance(0.5)) plan.starter = {NodeId(0), "mpirun"};
    if (dice_.chance(0.02)) plan.node_of_rank.clear();
    return plan;
  }
  Event any_event() {
    const Attempt attempt{dice_.chance(0.9) ? attempt_.value : attempt_.value + 1};
    const NodeId node{static_cast<std::uint32_t>(dice_.between(0, nodes_))};
    const Rank rank{static_cast<std::uint32_t>(dice_.between(0, ranks_))};
    const ExitStatus status{dice_.chance(0.2), dice_.chance(0.6) ? 0 : 9, false};
    const bool after_signal = dice_.chance(0.5);
    switch (dice_.between(0, 21)) {
      case 0:
        return event::NodeReady{node, attempt};
      case 1:
        return event::NodeLost{node, "gone", {}, Duration(dice_.between(0, 20'000))};
      case 2:
        return any_plan();
      case 3:
        if (dice_.chance(0.9)) return event::Tick{};
        return event::PlanFailed{Error{exit_code::kPreflight, "no"}};
      case 4:
        return event::RankStarted{attempt, rank, 1, wall(now_)};
      case 5:
        return event::RankNotStarted{attempt, rank, {}, wall(now_), {}};
      case 6:
      case 7:
      case 8:
        return event::RankExited{attempt, rank, status, wall(now_), after_signal};
      case 9:
      case 10:
        return event::NodeEmpty{attempt, node, 1};
      case 11:
        return event::PortTaken{attempt, rank, {1, "pid 1"}};
      case 12:
        return event::StarterEnded{attempt, NodeId(0), status, wall(now_), after_signal};
      case 13:
        return event::UserAsked{};
      case 14:
        return event::Copying{dice_.chance(0.5)};
      case 15:
        if (dice_.chance(0.3)) ++nodes_;
        return event::NodeAdded{NodeId{nodes_ - 1}, "added"};
      case 16:
        return event::NodeWithdrawn{node};
      case 17:
        return event::Hang{attempt, 60s, "no progress"};
      case 18:
        return event::Progress{attempt, dice_.between(0, 10)};
      case 19:
        return event::Stall{attempt, Duration(dice_.between(0, 20'000))};
      case 20:
        return event::Preempted{attempt, node, "", Duration(dice_.between(0, 1'000))};
      default:
        return event::Deadline{now_ + dice_.time(0ns, 60s)};
    }
  }

  Dice dice_;
  std::uint32_t nodes_ = 1;  // that were in the set at some time
  double calm_ = std::array<double, 4>{0.5, 0.8, 0.95, 0.99}[dice_.between(0, 3)];
  SupervisorConfig config_;
  std::vector<Transition> table_;
  Supervisor supervisor_;
  std::uint32_t ranks_ = 1;
  Attempt attempt_;
  MonotonicTime now_ = 100s;
  std::vector<Event> expected_;
  bool finished_ = false;
  std::string wrong_;
};

std::uint64_t events_of(std::uint64_t seed) {
  return seed % 3 == 0 ? seed / 3 % 10 : seed * 7 % 101;
}

TEST(AnyEvents, ASecondCancelEndsEveryRun) {
  const Seeds some = seeds(3000);
  for (std::uint64_t seed = some.first; seed <= some.last; ++seed) {
    AnyRun run(seed);
    run.happen(events_of(seed));
    run.cancel();
    run.cancel();
    run.wait(run.config().end_limit);
    ASSERT_TRUE(run.done()) << "seed " << seed << ", phase " << name_of(run.phase());
    ASSERT_EQ(run.wrong(), "") << "seed " << seed;
  }
}

TEST(AnyEvents, OneCancelEndsEveryRunWithinItsGrace) {
  const Seeds some = seeds(3000);
  for (std::uint64_t seed = some.first; seed <= some.last; ++seed) {
    AnyRun run(seed);
    run.happen(events_of(seed));
    run.cancel();
    run.wait(run.config().stop_grace + run.config().end_limit);
    ASSERT_TRUE(run.done()) << "seed " << seed << ", phase " << name_of(run.phase());
    ASSERT_EQ(run.wrong(), "") << "seed " << seed;
  }
}

/// Connect and plan have their own limits, the ranks have timeouts.run.
TEST(AnyEvents, TheLimitsEndEveryRun) {
  const Seeds some = seeds(3000);
  for (std::uint64_t seed = some.first; seed <= some.last; ++seed) {
    AnyRun run(seed);
    run.happen(events_of(seed));
    const SupervisorConfig& c = run.config();
    run.wait(2 * c.connect_limit + *c.run_limit + c.stop_grace + 2 * c.end_limit);
    ASSERT_TRUE(run.done()) << "seed " << seed << ", phase " << name_of(run.phase());
    ASSERT_EQ(run.wrong(), "") << "seed " << seed;
  }
}

TEST(AnyEvents, RunsGetFarEnoughToBeWorthIt) {
  std::array<int, 7> phases{};
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    AnyRun run(seed);
    run.happen(events_of(seed));
    ++phases[static_cast<std::size_t>(run.phase())];
  }
  for (const Phase phase :
       {Phase::connect, Phase::plan, Phase::run, Phase::stop, Phase::wait, Phase::done})
    EXPECT_GT(phases[static_cast<std::size_t>(phase)], 20) << name_of(phase);
}

}  // namespace
}  // namespace dlaunch::sim
