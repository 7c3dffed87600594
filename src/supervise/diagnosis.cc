#include "supervise/diagnosis.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace dlaunch {
namespace {

bool looks_like(const ExitStatus& status, int signal) {
  return status.signaled ? status.value == signal : status.value == exit_code::kSignalBase + signal;
}

void explain_rank(const RankEnd& end, RunReport& report) {
  if (end.start_failure) {
    report.cause = Cause::cannot_execute;
    report.exit_code = end.start_failure->code();
    return;
  }
  report.cause = end.status.signaled ? Cause::signal : Cause::exit_code;
  report.exit_code = end.status.code();
  report.from_rank = true;
}

}  // namespace

EndReading read_end(const ExitStatus& status, WallTime at, const Interference& sent,
                    ClockError clock_error) {
  using How = RankEnd::How;
  if (!sent.stop_sent) return {How::exited, true};
  const bool by_kill = status.signaled && status.value == SIGKILL;
  if (by_kill && sent.kill_sent && at + clock_error >= *sent.kill_sent) return {How::killed, true};
  if (at + clock_error <= *sent.stop_sent) return {How::exited, true};
  if (at - clock_error > *sent.stop_sent) return {How::stopped, true};
  if (looks_like(status, sent.stop_signal)) return {How::stopped, true};
  return {How::exited, false};
}

void FailureOrder::add(const RankFailure& failure) {
  if (!failure.certain) {
    uncertain_.push_back(failure);
    return;
  }
  if (failure.node.value >= nodes_.size()) nodes_.resize(failure.node.value + 1);
  std::optional<NodeFirst>& earliest = nodes_[failure.node.value];
  if (!earliest || failure.at < earliest->at) {
    earliest = NodeFirst{failure.at, {failure.rank}};
  } else if (failure.at == earliest->at) {
    earliest->ranks.push_back(failure.rank);
  }
}

std::optional<FirstFailure> FailureOrder::first() const {
  std::optional<WallTime> earliest;
  for (const auto& node : nodes_) {
    if (node && (!earliest || node->at < *earliest)) earliest = node->at;
  }
  if (!earliest) return std::nullopt;
  const WallTime latest_candidate = *earliest + clock_error_;

  FirstFailure result;
  std::vector<Rank>& candidates = result.perhaps;
  for (const auto& node : nodes_) {
    if (!node || node->at > latest_candidate) continue;
    candidates.insert(candidates.end(), node->ranks.begin(), node->ranks.end());
  }
  const auto lowest = std::min_element(candidates.begin(), candidates.end());
  result.rank = *lowest;
  candidates.erase(lowest);
  for (const RankFailure& failure : uncertain_) {
    if (failure.at <= latest_candidate) candidates.push_back(failure.rank);
  }
  std::sort(candidates.begin(), candidates.end());
  return result;
}

Verdict verdict_rank_failed() {
  Verdict verdict;
  verdict.by_rank = true;
  return verdict;
}

Verdict verdict_cancelled(int signal) {
  Verdict verdict;
  verdict.cause = Cause::cancelled;
  verdict.signal = signal;
  verdict.exit_code = exit_code::kSignalBase + (signal != 0 ? signal : SIGHUP);
  return verdict;
}

Verdict verdict_time_limit() {
  Verdict verdict;
  verdict.cause = Cause::time_limit;
  verdict.exit_code = exit_code::kTimeLimit;
  return verdict;
}

Verdict verdict_node_lost(NodeIndex node, std::string what) {
  Verdict verdict;
  verdict.cause = Cause::node_lost;
  verdict.exit_code = exit_code::kNodeLost;
  verdict.lost_node = node;
  verdict.detail = std::move(what);
  return verdict;
}

Verdict verdict_plan_failed(const Error& error) {
  Verdict verdict;
  verdict.cause = Cause::plan;
  verdict.exit_code = error.exit_code;
  verdict.detail = error.message;
  return verdict;
}

Verdict verdict_internal(std::string what) {
  Verdict verdict;
  verdict.cause = Cause::internal;
  verdict.exit_code = exit_code::kInternal;
  verdict.detail = std::move(what);
  return verdict;
}

void explain(const Verdict& verdict, const FailureOrder& failures, RunReport& report) {
  if (!verdict.by_rank) {
    report.cause = verdict.cause;
    report.exit_code = verdict.exit_code;
    report.lost_node = verdict.lost_node;
    report.signal = verdict.signal;
    report.detail = verdict.detail;
    return;
  }
  std::optional<FirstFailure> first = failures.first();
  if (!first)
    return explain(verdict_internal("a rank failed, but none is known"), failures, report);
  report.first = first->rank;
  report.perhaps_first = std::move(first->perhaps);
  explain_rank(report.ranks[first->rank.value], report);
}

}  // namespace dlaunch
