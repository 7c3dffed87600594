// Each invariant has a planted bug: a fault of the supervisor, or between it and the launcher, that
// only this simulation commits (simulated_cluster.h). The invariant must find it in one of the
// first runs, in which it finds nothing without the bug.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "attempts.h"
#include "checks.h"
#include "invariants.h"
#include "simulated_cluster.h"

namespace dlaunch::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMostSeeds = 2'000;
constexpr std::uint32_t kMaxRanks = 32;

template <class Do>
Bug configured(Do change) {
  Bug bug;
  bug.configure = change;
  return bug;
}
/// What the supervisor is told instead of these events.
template <class Kind, class Do>
Bug heard(Do change) {
  Bug bug;
  bug.hear = [change](Event& event) mutable {
    if (auto* one = std::get_if<Kind>(&event)) change(*one, event);
  };
  return bug;
}
template <class Do>
Bug acted(Do change) {
  Bug bug;
  bug.act = change;
  return bug;
}
/// The first action of this type in a run; nullptr: none in this step, or an earlier one had it.
template <class Kind>
Kind* first_of(StepRecord& step, bool& seen) {
  for (Action& action : step.actions) {
    auto* found = std::get_if<Kind>(&action);
    if (found != nullptr && !std::exchange(seen, true)) return found;
  }
  return nullptr;
}
template <class Kind>
Bug doubles() {
  return acted([seen = false](StepRecord& step) mutable {
    const Kind* found = first_of<Kind>(step, seen);
    if (found != nullptr) step.actions.emplace_back(Kind(*found));
  });
}
/// One is never done, or all are forgotten.
template <class Kind>
Bug forgets(bool all) {
  return acted([all, seen = false](StepRecord& step) mutable {
    std::erase_if(step.actions, [&](const Action& action) {
      return std::holds_alternative<Kind>(action) && (!std::exchange(seen, true) || all);
    });
  });
}

struct Plant {
  std::string_view invariant;
  Bug (*bug)();
};

Bug acts_after_the_end() {
  return acted([](StepRecord& step) {
    const bool is_over = step.done && find_action<action::Finish>(step) == nullptr;
    if (is_over) step.actions.emplace_back(action::Tell{"late"});
  });
}
Bug has_a_deadline_now() {
  return acted([](StepRecord& step) {
    if (step.deadline) step.deadline = step.now;
  });
}
Bug connects_what_is_asked() {
  return acted([](StepRecord& step) {
    const auto* asked = find_action<action::GatherFacts>(step);
    if (asked != nullptr)
      step.actions.emplace_back(action::ConnectNode{asked->node, asked->attempt, {}});
  });
}
/// The ranks of one node start with the next event.
Bug starts_a_node_late() {
  return acted([late = std::vector<Action>(), seen = false](StepRecord& step) mutable {
    step.actions.insert(step.actions.begin(), late.begin(), late.end());
    late.clear();
    if (const auto* start = first_of<action::StartRanks>(step, seen)) {
      late.emplace_back(*start);
      std::erase(step.actions, late.front());
    }
  });
}
Bug kills_at_once() {
  return acted([](StepRecord& step) {
    if (const auto* stop = find_action<action::StopRanks>(step))
      step.actions.emplace_back(action::KillRanks{stop->attempt, stop->node});
  });
}
/// The first rank that ends stands for all of its node.
Bug takes_an_end_for_an_empty_node() {
  return heard<event::RankExited>([](const event::RankExited& exited, Event& event) {
    event = event::NodeEmpty{exited.attempt, NodeId{0}, 0};
  });
}
Bug takes_failures_for_success() {
  return heard<event::RankExited>([](event::RankExited& exited, Event&) { exited.status = {}; });
}
Bug takes_each_code_for_one() {
  return heard<event::RankExited>([](event::RankExited& exited, Event&) {
    if (!exited.status.ok()) exited.status = {false, 1, false};
  });
}
Bug dates_each_end_before_the_last() {
  return heard<event::RankExited>(
      [at = wall({})](event::RankExited& exited, Event&) mutable { exited.at = at -= 1s; });
}
Bug forgets_its_signals() {
  return heard<event::RankExited>(
      [](event::RankExited& exited, Event&) { exited.after_signal = false; });
}
Bug hears_no_cancel() {
  return heard<event::CancelSignal>(
      [](const event::CancelSignal&, Event& event) { event = event::Tick{}; });
}
Bug counts_no_leftovers() {
  return heard<event::NodeEmpty>([](event::NodeEmpty& empty, Event&) { empty.leftovers = 0; });
}
Bug forgets_fences() {
  return heard<event::NodeLost>([](event::NodeLost& lost, Event&) { lost.may_run_for = 0ms; });
}
Bug restarts_once_more() {
  return configured([](SupervisorConfig& config) { config.restart.max += config.restart.max > 0; });
}
Bug restarts_after_everything() {
  return configured([](SupervisorConfig& config) {
    config.restart.not_on_exit.clear();
    config.restart.on = {RestartCause::failure, RestartCause::hang, RestartCause::node_loss,
                         RestartCause::preemption};
  });
}
Bug waits_half_for_nodes() {
  return configured([](SupervisorConfig& config) { config.return_limit /= 2; });
}
Bug announces_another_wait() {
  return acted([](StepRecord& step) {
    for (Action& action : step.actions) {
      if (auto* restart = std::get_if<action::Restart>(&action)) restart->failed.wait += 1s;
    }
  });
}
/// A signal that comes while the next attempt is waited for.
Bug hears_nothing_in_a_wait() {
  struct State {
    bool waits = false;
  };
  const auto state = std::make_shared<State>();
  Bug bug = heard<event::CancelSignal>([state](const event::CancelSignal&, Event& event) {
    if (state->waits) event = event::Tick{};
  });
  bug.act = [state](const StepRecord& step) {
    if (find_action<action::Restart>(step) != nullptr) state->waits = true;
    if (begins_attempt(step)) state->waits = false;
  };
  return bug;
}
Bug counts_a_second_twice() {
  return acted([](StepRecord& step) {
    for (Action& action : step.actions) {
      if (auto* finish = std::get_if<action::Finish>(&action)) finish->report.spent[0] += 1s;
    }
  });
}
Bug wants_one_node() {
  return configured(
      [](SupervisorConfig& config) { config.nodes_needed = config.nodes_wanted = 1; });
}
/// All failures are taken for those of the first rank, and one node is enough to go on.
Bug leaves_out_the_first_node() {
  Bug bug = heard<event::RankExited>([](event::RankExited& exited, Event&) {
    if (!exited.status.ok()) exited.rank = Rank{0};
  });
  bug.configure = [](SupervisorConfig& config) {
    config.restart.exclude_bad_nodes = true;
    config.nodes_needed = 1;
  };
  return bug;
}
Bug needs_all_that_are_wanted() {
  return configured([](SupervisorConfig& config) { config.nodes_needed = config.nodes_wanted; });
}
Bug starts_on_a_lost_node() {
  return acted([lost = std::optional<NodeId>(), done = false](StepRecord& step) mutable {
    if (step.event) {
      if (const auto* one = std::get_if<event::NodeLost>(&*step.event)) lost = one->node;
    }
    const auto* start = find_action<action::StartRanks>(step);
    if (lost && start != nullptr && !std::exchange(done, true))
      step.actions.emplace_back(action::StartRanks{start->attempt, *lost});
  });
}
Bug loses_deadlines() {
  Bug bug;
  bug.loses_deadlines = true;
  return bug;
}
Bug finishes_twice() {
  return doubles<action::Finish>();
}

constexpr std::array kPlants = {
    Plant{"Finish comes exactly once, as the last action", finishes_twice},
    Plant{"every run ends, within the sum of its limits", loses_deadlines},
    Plant{"nothing is asked after Finish", acts_after_the_end},
    Plant{"the deadline is never in the past", has_a_deadline_now},
    Plant{"every node is connected once and reports once, at the start, but for lost ones",
          doubles<action::GatherFacts>},
    Plant{"only what is lost is connected again", connects_what_is_asked},
    Plant{"ranks start once, all in the step of the plan, on nodes that have some",
          starts_a_node_late},
    Plant{"in the step of the decision every node with running ranks is told to stop, once",
          [] { return forgets<action::StopRanks>(false); }},
    Plant{"what is not empty after the grace, or after a second cancel, is killed",
          [] { return forgets<action::KillRanks>(true); }},
    Plant{"no node is killed before, or twice, or when it is empty", kills_at_once},
    Plant{"every node is released exactly once, unless it was lost before",
          [] { return forgets<action::ReleaseNode>(false); }},
    Plant{"no rank is left running where an agent lives", takes_an_end_for_an_empty_node},
    Plant{"success means that every rank exited with 0 and every node is empty",
          takes_failures_for_success},
    Plant{"exit code and cause are those of the first verdict", takes_each_code_for_one},
    Plant{"the first failure is the earliest genuine one", dates_each_end_before_the_last},
    Plant{"every rank's end is told as it was", forgets_its_signals},
    Plant{"every run ends, and whatever is cancelled twice ends as soon as it is killed",
          hears_no_cancel},
    Plant{"leftovers are the sum of what nodes reported", counts_no_leftovers},
    Plant{"no rank of an attempt is alive when the next one begins", forgets_fences},
    Plant{"restart.max and port retries are never exceeded, waits double", restarts_once_more},
    Plant{"only failures and losses that may be restarted are", restarts_after_everything},
    Plant{"a node that does not return ends the run when its limit is over", waits_half_for_nodes},
    Plant{"the next attempt begins when the wait is over", announces_another_wait},
    Plant{"what interrupts a wait ends the run at once", hears_nothing_in_a_wait},
    Plant{"the ledger sums up", counts_a_second_twice},
    Plant{"a plan names no node twice", doubles<action::StartRanks>},
    Plant{"a plan names no lost, withdrawn or removed node", starts_on_a_lost_node},
    Plant{"no rank runs on a node when it is removed", forgets_fences},
    Plant{"no rank runs on a node that left the set when it is connected again", forgets_fences},
    Plant{"an attempt has as many nodes as it needs, and no more than are wanted", wants_one_node},
    Plant{"a lost node is not waited for while enough others are there", needs_all_that_are_wanted},
    Plant{"a node is left out for its failures only while enough others are there",
          leaves_out_the_first_node},
    Plant{"every run ends, and never by an error of ours", loses_deadlines},
};

Scenario scenario_of(std::uint64_t seed, bool spares) {
  Scenario scenario = spares ? draw_spares_scenario(seed) : draw_scenario(seed, kMaxRanks);
  if (seed % 4 < 2) return scenario;
  return cancelled_twice(scenario, simulate(scenario).steps.back().now);
}

/// Every second one with spares, of them and of the others every second one cancelled.
template <class Check>
void expect_found(const char* invariant, bool only_spares, Check check) {
  const auto* plant = std::find_if(kPlants.begin(), kPlants.end(),
                                   [&](const Plant& one) { return one.invariant == invariant; });
  ASSERT_NE(plant, kPlants.end()) << "no bug is planted for: " << invariant;
  for (std::uint64_t seed = 1; seed <= kMostSeeds; ++seed) {
    const Scenario scenario = scenario_of(seed, only_spares || seed % 2 == 0);
    if (!check(simulate(scenario, plant->bug()))) continue;
    const Finding without = check(simulate(scenario));
    EXPECT_FALSE(without) << invariant << ", without the bug, seed " << seed << ": " << *without;
    testing::Test::RecordProperty(invariant, std::to_string(seed));
    return;
  }
  ADD_FAILURE() << "not found in " << kMostSeeds << " runs: " << invariant;
}

TEST(PlantedBugs, InvariantsOfAnAttemptFindTheirs) {
  for (const Invariant& invariant : invariants()) {
    expect_found(invariant.name, false, [&](const Trace& run) -> Finding {
      for (const Part& part : parts_of(run)) {
        if (part.is_wait) continue;
        if (const Finding finding = invariant.check(part.trace, part.digest)) return finding;
      }
      return {};
    });
  }
}

TEST(PlantedBugs, InvariantsOfARunFindTheirs) {
  for (const RunInvariant& invariant : run_invariants()) {
    expect_found(invariant.name, false,
                 [&](const Trace& run) { return invariant.check(run, parts_of(run)); });
  }
}

TEST(PlantedBugs, InvariantsOfSparesFindTheirs) {
  for (const SpareInvariant& invariant : spare_invariants())
    expect_found(invariant.name, true, invariant.check);
}

}  // namespace
}  // namespace dlaunch::sim
