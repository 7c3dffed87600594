// How one attempt of the supervisor's run ends, and whether another one follows.
#include <algorithm>
#include <utility>

#include "supervise/supervisor.h"
#include "supervise/wording.h"

namespace dlaunch {

RunReport Supervisor::report_of_attempt() const {
  RunReport report;
  report.attempt = attempt_.number;
  report.ranks = attempt_.progress.ends();
  if (attempt_.verdict) explain(final_verdict(), attempt_.failures, report);
  if (report.cause == Cause::time_limit) report.limit = config_.run_limit;
  if (report.cause == Cause::stragglers) report.limit = config_.stragglers_limit;
  if (attempt_.taken_port && report.from_rank) {
    report.cause = Cause::port_taken;
    report.port = attempt_.taken_port;
  }
  return report;
}

void Supervisor::attempt_over() {
  if (!attempt_.verdict && attempt_.ended_by_others) return judge_ends_by_others();
  if (!attempt_.verdict) return advance(Step::emptied);
  const RunReport report = report_of_attempt();
  const RestartDecision decision = decide_restart(report);
  if (decision.kind != RestartDecision::Kind::none) return repeat(report, decision);
  if (!decision.why_not.empty()) ask(action::Tell{wording::no_restart(decision.why_not)});
  advance(Step::emptied);
}

/// No rank has failed by itself, and yet they have not all ended well. The halt leads back to
/// attempt_over(), with a verdict.
void Supervisor::judge_ends_by_others() {
  if (!attempt_.mpirun_on) {
    return halt(verdict_internal("a node has ended ranks that it was not told to end"));
  }
  const auto& end = attempt_.mpirun_end;
  halt(verdict_mpirun("mpirun has ended ranks, and exited with code 0", end ? end->said : "",
                      exit_code::kInternal));
}

RestartDecision Supervisor::decide_restart(const RunReport& report) {
  if (attempt_.cancelled) return {};
  AttemptOutcome outcome;
  outcome.cause = report.cause;
  outcome.exit_code = report.exit_code;
  outcome.ran = attempt_.halted - attempt_.began;
  outcome.node_stuck = attempt_.node_stuck;
  outcome.node_lost =
      std::any_of(channels_.begin(), channels_.end(), [](Channel c) { return c == Channel::lost; });
  RestartDecision decision = restarts_.after(outcome);
  const bool follows = decision.kind != RestartDecision::Kind::none;
  if (follows && run_due_ && after(decision.wait) >= *run_due_) {
    return {RestartDecision::Kind::none, Duration(0), 0,
            wording::beyond_the_limit(decision.wait, *config_.run_limit)};
  }
  return decision;
}

void Supervisor::repeat(const RunReport& report, const RestartDecision& decision) {
  EarlierAttempt failed;
  failed.attempt = report.attempt;
  failed.cause = report.cause;
  failed.exit_code = report.exit_code;
  failed.from_rank = report.from_rank;
  failed.first = report.first;
  failed.perhaps_first = report.perhaps_first;
  if (report.first) failed.end = report.ranks[report.first->value];
  failed.port = report.port;
  failed.lost_nodes = report.lost_nodes;
  failed.ran = attempt_.halted - attempt_.began;
  failed.wait = decision.wait;
  failed.restart = decision.number;
  failed.restarts_max = restarts_.max();
  const bool restarts = decision.kind == RestartDecision::Kind::restart;
  ask(action::Restart{failed, Attempt(attempt_.number.value + 1)});
  ask(action::Tell{restarts ? wording::restart(failed, config_.node_names)
                            : wording::new_port(failed)});
  earlier_.push_back(std::move(failed));
  advance(Step::failed);
}

// ---- nodes that are lost and may return

/// How long ranks may run on there, only the session knows; where there are none, it means nothing.
void Supervisor::note_lost(const event::NodeLost& e) {
  const bool has_ranks = attempt_.progress.is_open(e.node);
  returns_.note_lost({e.node, e.what, e.heard_at}, has_ranks ? after(e.may_run_for) : now_);
}

bool Supervisor::waits_for_lost_nodes() const {
  if (earlier_.empty() || !restarts_.waits_for_nodes()) return false;
  return phase_ == Phase::wait || phase_ == Phase::connect || phase_ == Phase::plan;
}

void Supervisor::wait_for_lost(NodeIndex node, Channel before, const std::string& what) {
  if (phase_ == Phase::wait) return;  // begins with the next attempt
  if (returns_.is_trying(node)) return returns_.try_failed(node, what, now_);
  if (phase_ == Phase::plan) return advance(Step::relost);
  if (before == Channel::ready) ++nodes_opening_;
  returns_.wait_for(node, now_);
  ask(action::Tell{
      wording::waiting_for({wording::node(config_.node_names, node)}, config_.return_limit)});
}

/// Nodes that are connected report afresh, those that were lost are connected again. After a loss
/// that came while the plan was made, the others have reported.
void Supervisor::connect_again() {
  const Attempt next(earlier_.back().attempt.value + 1);
  const bool begins = attempt_.number != next;
  if (begins) {
    attempt_ = AttemptState();
    attempt_.number = next;
    phase_due_ = after(config_.connect_limit);
  }
  nodes_opening_ = 0;
  std::vector<std::string> lost;
  for (std::uint32_t i = 0; i < config_.nodes; ++i) {
    const NodeIndex node{i};
    if (channels_[i] == Channel::lost) {
      returns_.wait_for(node, now_);
      lost.push_back(wording::node(config_.node_names, node));
    } else if (begins) {
      channels_[i] = Channel::opening;
      ask(action::GatherFacts{attempt_.number, node});
    } else {
      continue;
    }
    ++nodes_opening_;
  }
  if (!lost.empty()) ask(action::Tell{wording::waiting_for(lost, config_.return_limit)});
}

void Supervisor::try_lost_nodes() {
  std::vector<LostNode> never_came;
  for (NodeReturns::Waited& waited : returns_.overdue(now_)) {
    LostNode node = std::move(waited.lost);
    node.what = wording::no_return(node.what, config_.return_limit, waited.last_words);
    never_came.push_back(std::move(node));
  }
  if (!never_came.empty()) return halt(verdict_nodes_lost(std::move(never_came)));
  for (const NodeReturns::Try& one : returns_.take_tries(now_)) {
    channels_[one.node.value] = Channel::opening;
    ask(action::ConnectNode{one.node, attempt_.number, one.within});
  }
}

}  // namespace dlaunch
