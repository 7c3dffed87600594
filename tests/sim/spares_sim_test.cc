// Random runs with spare nodes: what the supervisor may do with the set of nodes. The state of the
// set is read from the trace, without the supervisor's code. Each invariant has a planted bug that
// it finds. A failure names the seed:
//   DLAUNCH_SIM_SEED=17 test_sim     repeats it; DLAUNCH_SIM_SEEDS=100000 runs more of them.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "attempts.h"
#include "checks.h"
#include "invariants.h"
#include "seeds.h"
#include "simulated_cluster.h"

namespace dlaunch::sim {
namespace {

constexpr std::uint64_t kSeeds = 2'000;
constexpr std::uint64_t kUsualShare =
    16;  // one of so many is also judged by the invariants of all runs

/// The set of nodes as the supervisor's events and actions tell it, up to a step.
class NodeSet {
 public:
  explicit NodeSet(const Trace& t) : nodes_(t.scenario.nodes.size()) {}

  void see(const StepRecord& step) {
    if (step.event) {
      std::visit([&](const auto& e) { note(e, step.now); }, *step.event);
    }
    starts.clear();
    for (const Action& action : step.actions) {
      std::visit([this](const auto& a) { note(a); }, action);
    }
  }

  /// In the set, and not about to leave it.
  [[nodiscard]] std::size_t there() const {
    return count([](const Node& n) { return n.state == State::ready || n.state == State::asked; });
  }
  /// They have not answered yet, and none of them was lost.
  [[nodiscard]] std::size_t asked() const {
    return count([](const Node& n) { return n.state == State::asked; });
  }
  /// Ranks of an earlier attempt may run on a lost node.
  [[nodiscard]] bool is_fenced(MonotonicTime now) const {
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [now](const Node& n) { return n.removed || n.fenced <= now; });
  }
  [[nodiscard]] const Finding& wrong() const { return wrong_; }

  std::size_t joined_again = 0;  // removed nodes that were used again
  bool connects = true;        // nodes are connected for the next attempt
  Attempt attempt;             // that was connected last
  std::vector<NodeId> starts;  // in this step

 private:
  enum class State { lost, asked, ready, returned };
  struct Node {
    State state = State::lost;
    bool tried = false;  // lost or removed, and being connected again
    Attempt tried_for;
    bool leaves = false;
    bool joins = false;  // it has left before, and has not run ranks since
    bool removed = false;
    MonotonicTime fenced{};
  };

  template <class Is>
  std::size_t count(Is is) const {
    return static_cast<std::size_t>(std::count_if(nodes_.begin(), nodes_.end(), [&](const Node& n) {
      return !n.removed && !n.leaves && is(n);
    }));
  }
  Node& node(NodeId id) { return nodes_.at(id.value); }
  void is_used(NodeId id, const char* how) {
    if (node(id).removed) wrong_ = "node " + std::to_string(id.value) + how + " after its removal";
  }

  void note(const event::NodeReady& e, MonotonicTime) {
    Node& n = node(e.node);
    if (n.removed && n.tried && e.attempt == n.tried_for) {
      n.removed = n.leaves = n.tried = false;
      n.state = State::returned;
      n.joins = true;
    }
    if (!connects || n.state == State::returned || e.attempt != attempt ||
        (n.state == State::lost && !n.tried))
      return;
    n.state = State::ready;
    n.tried = false;
  }
  void note(const event::NodeLost& e, MonotonicTime now) {
    node(e.node).state = State::lost;
    node(e.node).tried = false;
    node(e.node).fenced = std::max(node(e.node).fenced, now + e.may_run_for);
  }
  void note(const event::Preempted& e, MonotonicTime) {
    if (runs_ && e.attempt == attempt) node(e.node).leaves = true;
  }
  template <class Event>
  void note(const Event&, MonotonicTime) {}

  void note(const action::ConnectNode& a) {
    if (Node& n = node(a.node); n.removed) {
      n.tried = true;
      n.tried_for = a.attempt;
      return;
    }
    attempt = a.attempt;
    connects = true;
    if (a.attempt.value == 0) node(a.node).state = State::asked;
    node(a.node).tried = a.attempt.value > 0;
  }
  void note(const action::GatherFacts& a) {
    is_used(a.node, " is asked");
    attempt = a.attempt;
    connects = true;
    node(a.node).state = State::asked;
  }
  void note(const action::MakePlan&) { connects = false; }
  void note(const action::StartRanks& a) {
    is_used(a.node, " starts ranks");
    const Node& n = node(a.node);
    if (n.state != State::ready || n.leaves)
      wrong_ = "node " + std::to_string(a.node.value) + " is lost or withdrawn, and starts ranks";
    starts.push_back(a.node);
    joined_again += std::exchange(node(a.node).joins, false);
    runs_ = true;
  }
  void note(const action::KillRanks& a) { is_used(a.node, " is told to kill"); }
  void note(const action::ReleaseNode& a) {
    if (!node(a.node).tried) is_used(a.node, " is released");
  }
  void note(const action::RemoveNode& a) {
    is_used(a.node, " is removed");
    node(a.node).removed = true;
  }
  void note(const action::Restart&) {
    runs_ = false;
    connects = false;
  }
  template <class Action>
  void note(const Action&) {}

  std::vector<Node> nodes_;
  bool runs_ = false;
  Finding wrong_;
};

Finding plans_name_a_node_once(const Trace& t) {
  NodeSet set(t);
  for (const StepRecord& step : t.steps) {
    set.see(step);
    std::sort(set.starts.begin(), set.starts.end());
    if (std::adjacent_find(set.starts.begin(), set.starts.end()) != set.starts.end())
      return "attempt " + std::to_string(set.attempt.value);
  }
  return {};
}

Finding uses_only_what_is_there(const Trace& t) {
  NodeSet set(t);
  for (const StepRecord& step : t.steps) {
    set.see(step);
    if (set.wrong()) return set.wrong();
  }
  return {};
}

Finding fences_before_removal(const Trace& t) {
  if (t.overlap) return "ranks of two attempts ran at once";
  if (t.removed_running.empty()) return {};
  return "node " + std::to_string(t.removed_running.front().value);
}

Finding fences_before_return(const Trace& t) {
  return t.joined_running ? Finding{"a node"} : Finding{};
}

Finding attempts_have_their_size(const Trace& t) {
  NodeSet set(t);
  for (const StepRecord& step : t.steps) {
    set.see(step);
    const std::size_t used = set.starts.size();
    if (used == 0) continue;
    if (used < t.scenario.config.nodes_needed || used > t.scenario.config.nodes_wanted)
      return std::to_string(used) + " nodes";
  }
  return {};
}

/// When all that are there have answered, and suffice, the plan is made in the same step; unless
/// ranks may still run on a lost one. Nor does a lost one end the run then.
Finding waits_only_for_what_it_needs(const Trace& t) {
  NodeSet set(t);
  for (const StepRecord& step : t.steps) {
    const bool connected = set.connects;
    set.see(step);
    const bool enough = set.there() >= t.scenario.config.nodes_needed;
    const auto* told = find_action<action::Tell>(step);
    if (enough && told != nullptr && told->line.starts_with("no restart: a node was lost"))
      return "a node that is not needed forbids a restart";
    const auto* finish = find_action<action::Finish>(step);
    if (finish != nullptr) {
      const bool by_loss = finish->report.outcome.cause == Cause::node_lost;
      return by_loss && connected && enough && set.attempt.value > 0
                 ? Finding{"a node that is not needed ends the run"}
                 : Finding{};
    }
    if (set.connects && enough && set.asked() == 0 && set.is_fenced(step.now))
      return "attempt " + std::to_string(set.attempt.value) + " waits, at " +
             std::to_string(step.now.count()) + " ns";
  }
  return {};
}

Finding ends(const Trace& t) {
  if (t.ran_out_of_events) return "it waits for nothing";
  const auto* finish = [&]() -> const action::Finish* {
    for (const StepRecord& step : t.steps) {
      if (const auto* found = find_action<action::Finish>(step)) return found;
    }
    return nullptr;
  }();
  if (finish == nullptr) return "no Finish";
  if (finish->report.outcome.cause == Cause::internal) return finish->report.outcome.detail;
  return {};
}

/// Spoils a good run so that the invariant must find it; false: this run has no place for it.
using Plant = bool (*)(Trace&);

template <class Do>
bool at_the_start_of_ranks(Trace& t, Do spoil) {
  for (std::size_t i = 0; i < t.steps.size(); ++i) {
    if (const auto* start = find_action<action::StartRanks>(t.steps[i])) return spoil(i, *start);
  }
  return false;
}

struct SpareInvariant {
  const char* name;
  Finding (*check)(const Trace&);
  Plant plant;
};

constexpr std::array kInvariants = {
    SpareInvariant{"a plan names no node twice", plans_name_a_node_once,
                   [](Trace& t) {
                     return at_the_start_of_ranks(t, [&](std::size_t i, action::StartRanks start) {
                       t.steps[i].actions.emplace_back(start);
                       return true;
                     });
                   }},
    SpareInvariant{"a plan names no lost, withdrawn or removed node", uses_only_what_is_there,
                   [](Trace& t) {
                     return at_the_start_of_ranks(t, [&](std::size_t i, action::StartRanks start) {
                       t.steps[i - 1].event = event::NodeLost{start.node, "planted"};
                       return true;
                     });
                   }},
    SpareInvariant{"no rank runs on a node when it is removed", fences_before_removal,
                   [](Trace& t) {
                     Scenario scenario = t.scenario;
                     scenario.forgets_fences = true;
                     t = simulate(scenario);
                     return true;
                   }},
    SpareInvariant{"no rank runs on a node that left the set when it is connected again",
                   fences_before_return,
                   [](Trace& t) {
                     Scenario scenario = t.scenario;
                     scenario.forgets_fences = true;
                     t = simulate(scenario);
                     return true;
                   }},
    SpareInvariant{"an attempt has as many nodes as it needs, and no more than are wanted",
                   attempts_have_their_size,
                   [](Trace& t) {
                     --t.scenario.config.nodes_wanted;
                     return at_the_start_of_ranks(t, [](std::size_t, auto) { return true; });
                   }},
    SpareInvariant{"a lost node is not waited for while enough others are there",
                   waits_only_for_what_it_needs,
                   [](Trace& t) {
                     Scenario scenario = t.scenario;
                     scenario.config.nodes_needed = scenario.config.nodes_wanted;
                     t = simulate(scenario);
                     t.scenario.config.nodes_needed = 1;
                     return true;
                   }},
    SpareInvariant{"every run ends, and never by an error of ours", ends,
                   [](Trace& t) {
                     t.steps.pop_back();
                     return true;
                   }},
};

/// The invariants of all runs know no node that is connected again after it has left the set.
bool tries_what_left(const Trace& run) {
  std::set<std::uint32_t> left;
  for (const StepRecord& step : run.steps) {
    for (const Action& action : step.actions) {
      if (const auto* removed = std::get_if<action::RemoveNode>(&action))
        left.insert(removed->node.value);
      const auto* connect = std::get_if<action::ConnectNode>(&action);
      if (connect != nullptr && left.contains(connect->node.value)) return true;
    }
  }
  return false;
}

TEST(SparesSim, InvariantsHoldInEveryRun) {
  const Seeds some = seeds(kSeeds);
  Coverage coverage;
  std::size_t removed = 0;
  std::size_t shrunk = 0;
  std::size_t joined_again = 0;
  std::size_t restarts = 0;
  for (std::uint64_t seed = some.first; seed <= some.last && !HasFailure(); ++seed) {
    const Trace run = simulate(draw_spares_scenario(seed));
    if ((!some.is_usual || seed % kUsualShare == 0) && !tries_what_left(run)) {
      (void)check(run, coverage, " with spares");
      const Trace cancelled = simulate(cancelled_twice(run.scenario, run.steps.back().now));
      if (!tries_what_left(cancelled))
        (void)check(cancelled, coverage, " with spares, cancelled twice");
    }
    for (const SpareInvariant& invariant : kInvariants) {
      const Finding finding = invariant.check(run);
      EXPECT_FALSE(finding) << "seed " << seed << ", " << run.scenario.nodes.size() << " nodes, "
                            << run.scenario.config.nodes_needed << " to "
                            << run.scenario.config.nodes_wanted << ": " << invariant.name << ": "
                            << *finding;
    }
    NodeSet set(run);
    for (const StepRecord& step : run.steps) {
      set.see(step);
      removed += find_action<action::RemoveNode>(step) != nullptr;
      restarts += find_action<action::Restart>(step) != nullptr;
      shrunk += !set.starts.empty() && set.starts.size() < run.scenario.config.nodes_wanted;
    }
    joined_again += set.joined_again;
  }
  RecordProperty("removed", std::to_string(removed));
  RecordProperty("shrunk", std::to_string(shrunk));
  RecordProperty("joined_again", std::to_string(joined_again));
  RecordProperty("restarts", std::to_string(restarts));
  coverage.record();
  if (some.is_one) return;
  EXPECT_GT(removed, 20u);
  EXPECT_GT(shrunk, 5u);
  EXPECT_GT(joined_again, 5u);
  EXPECT_GT(restarts, 20u);
}

TEST(SparesSim, EveryInvariantFindsItsPlantedBug) {
  for (const SpareInvariant& invariant : kInvariants) {
    bool found = false;
    for (std::uint64_t seed = 1; seed <= kSeeds && !found; ++seed) {
      Trace run = simulate(draw_spares_scenario(seed));
      found = !invariant.check(run) && invariant.plant(run) && invariant.check(run);
    }
    EXPECT_TRUE(found) << invariant.name;
  }
}

}  // namespace
}  // namespace dlaunch::sim
