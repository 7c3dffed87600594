#include "invariants.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "attempts.h"
#include "supervise/preemption.h"

using namespace std::chrono_literals;

namespace dlaunch::sim {
namespace {

using How = RankEnd::How;
using Kind = Decision::Kind;

std::string node(std::size_t n) {
  return "node " + std::to_string(n);
}
std::string rank(std::size_t r) {
  return "rank " + std::to_string(r);
}

Finding finishes_once(const Trace& t, const Digest& d) {
  if (!t.is_last) return d.finishes.empty() ? Finding{} : Finding{"and another attempt follows"};
  if (d.finishes.size() != 1) return std::to_string(d.finishes.size()) + " times";
  const StepRecord& last = t.steps[d.finishes[0]];
  if (!std::holds_alternative<action::Finish>(last.actions.back()))
    return "Finish is not the last action";
  if (!last.done) return "not done after Finish";
  return {};
}

Finding ends_in_time(const Trace& t, const Digest& d) {
  if (t.ran_out_of_events) return "it waits for nothing";
  const MonotonicTime took = t.steps[d.ended].now - t.steps[0].now;
  if (took > t.scenario.longest_attempt()) return "took " + std::to_string(took.count()) + " ns";
  return {};
}

Finding silent_after_finish(const Trace& t, const Digest& d) {
  if (!t.is_last || d.finishes.empty()) return {};
  for (StepIndex i = d.finishes[0] + 1; i < t.steps.size(); ++i) {
    if (!t.steps[i].actions.empty() || t.steps[i].deadline) return "step " + std::to_string(i);
  }
  return {};
}

Finding deadline_in_future(const Trace& t, const Digest&) {
  for (const StepRecord& step : t.steps) {
    if (step.deadline && *step.deadline <= step.now) return std::to_string(step.now.count());
  }
  return {};
}

const std::vector<StepIndex> kAtTheStart{0};

Finding asks_each_once(const Trace& t, const Digest& d) {
  const bool first = t.attempt.value == 0;
  for (std::size_t n = 0; n < d.nodes.size(); ++n) {
    const NodeDigest& x = d.nodes[n];
    if (x.asked_again) return node(n) + " is asked twice";
    // A node that has left is asked when it returns.
    const bool asked_late = !x.gathered.empty() && x.gathered != kAtTheStart && !x.left;
    if (first && (x.connected != kAtTheStart || (!x.gathered.empty() && !x.left))) return node(n);
    if (first) continue;
    if (asked_late) return node(n) + " is asked late";
    if (!x.connected.empty() && !t.scenario.waits_for_nodes()) return node(n) + " connected again";
    if (d.planned && x.gathered.empty() && x.connected.empty() && !t.scenario.has_spares())
      return node(n) + " is not asked";
  }
  return {};
}

/// Never two channels to a node: one is opened where the last one was lost.
Finding connects_only_what_is_lost(const Trace& t, const Digest&) {
  if (t.attempt.value == 0) return {};
  std::vector<bool> up(t.scenario.nodes.size(), false);
  for (const StepRecord& step : t.steps) {
    if (step.event) {
      if (const auto* lost = std::get_if<event::NodeLost>(&*step.event))
        up[lost->node.value] = false;
    }
    for (const Action& action : step.actions) {
      if (const auto* asked = std::get_if<action::GatherFacts>(&action))
        up[asked->node.value] = true;
      if (const auto* removed = std::get_if<action::RemoveNode>(&action))
        up[removed->node.value] = false;
      if (const auto* released = std::get_if<action::ReleaseNode>(&action))
        up[released->node.value] = false;
      const auto* opened = std::get_if<action::ConnectNode>(&action);
      if (opened == nullptr) continue;
      if (up[opened->node.value]) return node(opened->node.value);
      up[opened->node.value] = true;
    }
  }
  return {};
}

Finding starts_with_the_plan(const Trace& t, const Digest& d) {
  for (std::size_t n = 0; n < d.nodes.size(); ++n) {
    const NodeDigest& x = d.nodes[n];
    const bool wanted = d.planned && x.ranks > 0;
    if (x.started != (wanted ? std::vector<StepIndex>{*d.planned} : std::vector<StepIndex>{}))
      return node(n);
  }
  if (d.planned && !t.scenario.has_spares() && (!d.all_ready || *d.all_ready > *d.planned))
    return "planned too early";
  return {};
}

Finding stops_with_the_decision(const Trace& t, const Digest& d) {
  std::vector<NodeId> stopped;
  for (std::uint32_t n = 0; n < d.nodes.size(); ++n) {
    if (d.nodes[n].stopped.empty()) continue;
    if (t.scenario.mpirun && n == 0) {  // mpirun is stopped when no rank is left
      if (!d.decision || d.nodes[n].stopped.size() > 2) return "mpirun";
      if (std::count(d.decision->with_running.begin(), d.decision->with_running.end(), NodeId{0}) ==
          0)
        continue;
    } else if (d.nodes[n].stopped.size() > 1) {
      return node(n) + " twice";
    }
    if (!d.decision || d.nodes[n].stopped[0] != d.decision->step)
      return node(n) + " in another step";
    stopped.emplace_back(n);
  }
  if (d.decision && stopped != d.decision->with_running) return "not those with running ranks";
  return {};
}

/// When the grace time ended: by time or by a second cancel. No kill is due before this step.
std::optional<MonotonicTime> kill_from(const Trace& t, const Digest& d) {
  if (!d.decision) return {};
  const auto grace_at = [&](StepIndex step) {
    const auto* notice = std::get_if<event::Preempted>(&*t.steps[step].event);
    return grace_after_notice(notice->left, t.scenario.config.stop_grace);
  };
  const bool by_notice = d.decision->kind == Kind::preempted;
  MonotonicTime from = t.steps[d.decision->step].now +
                       (by_notice ? grace_at(d.decision->step) : t.scenario.config.stop_grace);
  for (const StepIndex step : d.notices) {
    if (std::get<event::Preempted>(*t.steps[step].event).left)
      from = std::min(from, t.steps[step].now + grace_at(step));
  }
  if (!d.cancels.empty()) from = std::min(from, t.steps[d.cancels[0]].now);
  return from;
}

Finding kills_after_the_grace(const Trace& t, const Digest& d) {
  const auto from = kill_from(t, d);
  const MonotonicTime end = t.steps[d.ended].now;
  for (std::size_t n = 0; n < d.nodes.size(); ++n) {
    const NodeDigest& x = d.nodes[n];
    if (!from || x.started.empty()) continue;
    const MonotonicTime closed = x.closed() ? t.steps[*x.closed()].now : end;
    const MonotonicTime latest = *from + t.scenario.lateness();
    if (closed > latest && (x.killed.empty() || t.steps[x.killed[0]].now > latest)) return node(n);
  }
  return {};
}

Finding kills_only_with_reason(const Trace& t, const Digest& d) {
  const auto from = kill_from(t, d);
  std::vector<StepIndex> last_end(
      d.nodes.size(),
      0);  // the last end of a node's ranks; the maximum: some have not ended
  for (std::size_t r = 0; r < d.ranks.size(); ++r) {
    StepIndex& last = last_end[t.scenario.ranks[r].node.value];
    last = std::max(last, d.ranks[r].ended.value_or(t.steps.size()));
  }
  for (std::size_t n = 0; n < d.nodes.size(); ++n) {
    const NodeDigest& x = d.nodes[n];
    if (x.killed.empty()) continue;
    if (x.killed.size() > 1) return node(n) + " twice";
    if (x.closed() && *x.closed() < x.killed[0]) return node(n) + " has nothing left";
    const bool grace_over = from && t.steps[x.killed[0]].now >= *from;
    if (!grace_over && last_end[n] > x.killed[0]) return node(n) + " too early";
  }
  return {};
}

Finding lets_go_of_every_node(const Trace& t, const Digest& d) {
  if (!t.is_last) return {};
  for (std::size_t n = 0; n < d.nodes.size(); ++n) {
    const NodeDigest& x = d.nodes[n];
    if (x.up) return node(n);
    if (x.released_down) return node(n) + " was lost before";
  }
  return {};
}

Finding leaves_nothing_running(const Trace& t, const Digest& d) {
  for (std::size_t r = 0; r < t.ranks.size(); ++r) {
    const std::uint32_t n = t.scenario.ranks[r].node.value;
    const bool excused = t.ranks[r].lost || d.nodes[n].given_up;
    if (t.ranks[r].started && !t.ranks[r].ended && !excused) return rank(r);
  }
  return {};
}

Finding succeeds_only_if_all_did(const Trace& t, const Digest& d) {
  bool all = d.planned.has_value();
  const bool early = d.decision && d.decision->kind == Kind::success;
  for (std::size_t r = 0; r < t.ranks.size(); ++r) {
    if (early && !t.scenario.decides[r]) continue;
    const RankTruth& truth = t.ranks[r];
    all = all && truth.ended && !truth.start_failed && truth.own && truth.status.ok();
  }
  all = all && !(d.decision && d.decision->kind == Kind::mpirun);
  for (const NodeDigest& x : d.nodes) all = all && (early || x.ranks == 0 || x.emptied);
  if (!t.is_last) {
    // All may end well after a hang or a notice was told, before the signal reaches them.
    const bool stopped =
        d.decision && (d.decision->kind == Kind::hang || d.decision->kind == Kind::preempted);
    return all && !stopped ? Finding{"and another attempt follows"} : Finding{};
  }
  const bool success = d.report->outcome.cause == Cause::success;
  if (success != (d.report->outcome.exit_code == 0)) return "cause and code differ";
  if (success && !all) return "not all ranks ended well";
  if (success == (d.decision && !early)) return "against the first verdict";
  return {};
}

/// A run that ends before its plan names every node that was lost until then, and, if the limit
/// ended it, every node that had not answered.
Finding all_are_named(const Trace& t, const Digest& d) {
  if (d.planned) return {};
  const auto& named = d.report->outcome.lost_nodes;
  // Those that are overdue, or that others do not suffice without.
  if (t.scenario.has_spares() || (t.attempt.value > 0 && t.scenario.waits_for_nodes())) return {};
  for (std::uint32_t n = 0; n < d.nodes.size(); ++n) {
    const bool is_named = std::any_of(named.begin(), named.end(),
                                      [n](const LostNode& one) { return one.node.value == n; });
    if (d.nodes[n].lost && *d.nodes[n].lost <= d.decision->step && !is_named)
      return node(n) + " is not named";
    if (is_named && std::find(d.answered.begin(), d.answered.end(), n) != d.answered.end() &&
        !d.nodes[n].lost)
      return node(n) + " had answered";
  }
  return {};
}

Finding reports_the_decision(const Trace& t, const Digest& d) {
  if (!d.decision) return t.is_last ? Finding{} : Finding{"another attempt follows, without one"};
  if (!t.is_last) {
    const bool lost = d.decision->kind == Kind::node_lost && t.scenario.waits_for_nodes();
    const bool taken = d.decision->kind == Kind::preempted && t.scenario.has_spares();
    const bool failed = d.decision->kind == Kind::rank || d.decision->kind == Kind::mpirun ||
                        d.decision->kind == Kind::hang;
    return lost || taken || failed ? Finding{} : Finding{"it was no failure"};
  }
  const RunReport& report = *d.report;
  switch (d.decision->kind) {
    case Kind::mpirun:
      if (report.outcome.cause == Cause::starter)
        return report.outcome.exit_code != 0 ? Finding{} : Finding{"success"};
      [[fallthrough]];  // a rank had failed before
    case Kind::rank: {
      if (report.outcome.cause == Cause::starter && t.scenario.mpirun)
        return report.outcome.exit_code != 0 ? Finding{} : Finding{"success"};
      if (!report.outcome.first) return "no first rank";
      const RankTruth& r = t.ranks[report.outcome.first->value];
      const int expected = r.start_failed ? r.start_code : r.status.code();
      if (report.outcome.exit_code != expected) return "not the code of the first rank";
      if (report.outcome.from_rank == r.start_failed) return "origin";
      return {};
    }
    case Kind::node_lost:
      if (report.outcome.exit_code != exit_code::kNodeLost ||
          report.outcome.cause != Cause::node_lost)
        return "not 69";
      if (report.outcome.lost_nodes.empty()) return "which?";
      return all_are_named(t, d);
    case Kind::cancelled: {
      const int signal = d.decision->signal == 0 ? SIGHUP : d.decision->signal;
      if (report.outcome.exit_code != 128 + signal || report.outcome.signal != d.decision->signal)
        return "not 128 + n";
      return {};
    }
    case Kind::time_limit:
      return report.outcome.exit_code == exit_code::kTimeLimit ? Finding{} : Finding{"not 124"};
    case Kind::hang:
      if (report.outcome.exit_code != exit_code::kTimeLimit || report.outcome.cause != Cause::hang)
        return "not 124";
      return report.outcome.limit ? Finding{} : Finding{"which limit?"};
    case Kind::preempted:
      if (report.outcome.exit_code != exit_code::kPreempted ||
          report.outcome.cause != Cause::preempted)
        return "not 158";
      return report.outcome.preempted.empty() ? Finding{"which?"} : Finding{};
    case Kind::plan_failed:
      return report.outcome.cause == Cause::plan ? Finding{} : Finding{"not plan"};
    case Kind::success:
      return report.outcome.exit_code == 0 ? Finding{} : Finding{"not 0"};
    case Kind::stragglers:
      if (report.outcome.exit_code != exit_code::kTimeLimit ||
          report.outcome.cause != Cause::stragglers)
        return "not 124";
      return report.outcome.stragglers.empty() ? Finding{"which?"} : Finding{};
  }
  return {};
}

/// The true first failure, among those that the launcher knows, is named, or is among those that it
/// reports as undecidable. With equal clocks nothing is undecidable.
Finding names_the_first_failure(const Trace& t, const Digest& d) {
  if (!t.is_last || !d.report->outcome.first) return {};
  std::optional<std::size_t> earliest;
  for (std::size_t r = 0; r < t.ranks.size(); ++r) {
    if (!d.ranks[r].ended || !t.ranks[r].failed()) continue;
    if (!earliest || t.ranks[r].ended_at < t.ranks[*earliest].ended_at) earliest = r;
  }
  const Rank first = *d.report->outcome.first;
  if (!earliest || !t.ranks[first.value].failed())
    return rank(first.value) + " did not fail by itself";
  if (t.scenario.has_clock_steps()) return {};  // no order is known then
  const auto& perhaps = d.report->outcome.perhaps_first;
  if (t.scenario.clocks_are_exact()) {
    for (const Rank r : perhaps) {
      if (t.ranks[r.value].ended_at != t.ranks[first.value].ended_at)
        return rank(r.value) + " is not a tie";
    }
    if (t.ranks[first.value].ended_at != t.ranks[*earliest].ended_at)
      return rank(*earliest) + " was first";
  } else if (first.value != *earliest &&
             std::find(perhaps.begin(), perhaps.end(),
                       Rank{static_cast<std::uint32_t>(*earliest)}) == perhaps.end()) {
    return rank(*earliest) + " was first and is not named";
  }
  return {};
}

Finding tells_how_each_rank_ended(const Trace& t, const Digest& d) {
  if (!t.is_last) return {};
  if (!d.planned) return d.report->ranks.empty() ? Finding{} : Finding{"ranks without a plan"};
  if (d.report->ranks.size() != t.ranks.size()) return "not all ranks";
  for (std::size_t r = 0; r < t.ranks.size(); ++r) {
    const RankTruth& truth = t.ranks[r];
    const RankEnd& end = d.report->ranks[r];
    if (!d.ranks[r].ended) {
      const bool node_gone = d.nodes[t.scenario.ranks[r].node.value].emptied == std::nullopt;
      if (end.how != (node_gone ? How::lost : How::not_started)) return rank(r) + " without news";
      continue;
    }
    if (truth.start_failed != (end.how == How::cannot_start)) return rank(r) + " start";
    if (truth.start_failed) continue;
    if (end.status != truth.status || !end.started) return rank(r) + " status";
    // A rank's own end after the stop was sent may be classified as a response to it, but not vice
    // versa.
    const bool clocks_equal = t.scenario.clocks_are_exact();
    if (clocks_equal && !truth.own && end.how == How::exited) return rank(r) + " was stopped";
    const bool before_stop = !d.decision || truth.ended_at < t.steps[d.decision->step].now;
    if (clocks_equal && before_stop && !truth.left && end.how != How::exited)
      return rank(r) + " ended by itself";
    if (end.how == How::killed && truth.own) return rank(r) + " was not killed";
  }
  return {};
}

constexpr std::array kInvariants = {
    Invariant{"Finish comes exactly once, as the last action", finishes_once},
    Invariant{"every run ends, within the sum of its limits", ends_in_time},
    Invariant{"nothing is asked after Finish", silent_after_finish},
    Invariant{"the deadline is never in the past", deadline_in_future},
    Invariant{"every node is connected once and reports once, at the start, but for lost ones",
              asks_each_once},
    Invariant{"only what is lost is connected again", connects_only_what_is_lost},
    Invariant{"ranks start once, all in the step of the plan, on nodes that have some",
              starts_with_the_plan},
    Invariant{"in the step of the decision every node with running ranks is told to stop, once",
              stops_with_the_decision},
    Invariant{"what is not empty after the grace, or after a second cancel, is killed",
              kills_after_the_grace},
    Invariant{"no node is killed before, or twice, or when it is empty", kills_only_with_reason},
    Invariant{"every node is released exactly once, unless it was lost before",
              lets_go_of_every_node},
    Invariant{"no rank is left running where an agent lives", leaves_nothing_running},
    Invariant{"success means that every rank exited with 0 and every node is empty",
              succeeds_only_if_all_did},
    Invariant{"exit code and cause are those of the first verdict", reports_the_decision},
    Invariant{"the first failure is the earliest genuine one", names_the_first_failure},
    Invariant{"every rank's end is told as it was", tells_how_each_rank_ended},
};

}  // namespace

std::span<const Invariant> invariants() {
  return kInvariants;
}

}  // namespace dlaunch::sim
