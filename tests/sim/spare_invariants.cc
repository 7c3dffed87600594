// What the supervisor may do with the set of nodes, in runs with spares. The state of the set is
// read from the trace, without the supervisor's code.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "attempts.h"
#include "invariants.h"

namespace dlaunch::sim {
namespace {

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
  /// Connected, in the set, and not about to leave it, as this one is.
  [[nodiscard]] std::size_t connected_without(NodeId id) const {
    return count([&](const Node& n) { return n.state != State::lost && &n != &nodes_[id.value]; });
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
  bool connects = true;          // nodes are connected for the next attempt
  Attempt attempt;               // that was connected last
  std::vector<NodeId> starts;    // in this step

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

bool leaves_out_a_bad_node(const StepRecord& step) {
  return std::any_of(step.actions.begin(), step.actions.end(), [](const Action& action) {
    const auto* told = std::get_if<action::Tell>(&action);
    return told != nullptr && told->line.find("exclude_bad_nodes") != std::string::npos;
  });
}

/// A lost node does not take the place of one that is left out because attempts fail there.
Finding leaves_out_only_what_can_be_spared(const Trace& t) {
  NodeSet set(t);
  for (const StepRecord& step : t.steps) {
    set.see(step);
    if (!leaves_out_a_bad_node(step)) continue;
    const FailedAttempt& failed = find_action<action::Restart>(step)->failed;
    const NodeId bad = t.placed.at(failed.attempt.value).at(failed.outcome.first->value);
    if (set.connected_without(bad) < t.scenario.config.nodes_needed)
      return "node " + std::to_string(bad.value);
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

constexpr std::array kSpareInvariants = {
    SpareInvariant{"a plan names no node twice", plans_name_a_node_once},
    SpareInvariant{"a plan names no lost, withdrawn or removed node", uses_only_what_is_there},
    SpareInvariant{"no rank runs on a node when it is removed", fences_before_removal},
    SpareInvariant{"no rank runs on a node that left the set when it is connected again",
                   fences_before_return},
    SpareInvariant{"an attempt has as many nodes as it needs, and no more than are wanted",
                   attempts_have_their_size},
    SpareInvariant{"a lost node is not waited for while enough others are there",
                   waits_only_for_what_it_needs},
    SpareInvariant{"a node is left out for its failures only while enough others are there",
                   leaves_out_only_what_can_be_spared},
    SpareInvariant{"every run ends, and never by an error of ours", ends},
};

}  // namespace

std::span<const SpareInvariant> spare_invariants() {
  return kSpareInvariants;
}

SetHistory history_of_set(const Trace& t) {
  SetHistory history;
  NodeSet set(t);
  for (const StepRecord& step : t.steps) {
    set.see(step);
    history.removed += find_action<action::RemoveNode>(step) != nullptr;
    history.restarts += find_action<action::Restart>(step) != nullptr;
    history.shrunk += !set.starts.empty() && set.starts.size() < t.scenario.config.nodes_wanted;
  }
  history.joined_again = set.joined_again;
  return history;
}

}  // namespace dlaunch::sim
