#include "supervise/diagnosis.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace dlaunch {

void explain_by_rank(Rank rank, RunReport& report) {
  const RankEnd& end = report.ranks[rank.value];
  report.first = rank;
  if (end.start_failure) {
    report.cause = Cause::cannot_execute;
    report.exit_code = end.start_failure->code();
    return;
  }
  if (end.status.mpi != MpiEnd::fine && end.status.mpi != MpiEnd::aborted) {
    report.cause = Cause::mpi;  // its own exit code is 0
    report.exit_code = end.status.code();
    return;
  }
  report.cause = end.status.signaled ? Cause::signal : Cause::exit_code;
  if (!end.status.out_of_memory.empty()) report.cause = Cause::out_of_memory;
  report.exit_code = end.status.code();
  report.from_rank = true;
}

RankEnd::How read_end(const ExitStatus& status, bool after_signal, bool kill_sent) {
  if (!after_signal) return RankEnd::How::exited;
  const bool by_kill = status.signaled && status.value == SIGKILL;
  return by_kill && kill_sent ? RankEnd::How::killed : RankEnd::How::stopped;
}

void FailureOrder::add(const RankFailure& failure) {
  if (failure.node.value >= nodes_.size()) nodes_.resize(failure.node.value + 1);
  std::optional<NodeFirst>& earliest = nodes_[failure.node.value];
  if (!earliest || failure.at < earliest->at) {
    earliest = NodeFirst{failure.at, failure.clock_error, {failure.rank}};
  } else if (failure.at == earliest->at) {
    earliest->ranks.push_back(failure.rank);
  }
}

std::optional<FirstFailure> FailureOrder::first() const {
  std::optional<WallTime> latest_candidate;  // some node failed before this for certain
  for (const auto& node : nodes_) {
    if (!node) continue;
    const WallTime certain = node->at + node->clock_error;
    if (!latest_candidate || certain < *latest_candidate) latest_candidate = certain;
  }
  if (!latest_candidate) return std::nullopt;

  FirstFailure result;
  std::vector<Rank>& candidates = result.perhaps;
  std::optional<std::pair<WallTime, Rank>> likely;
  for (const auto& node : nodes_) {
    if (!node || node->at - node->clock_error > *latest_candidate) continue;
    candidates.insert(candidates.end(), node->ranks.begin(), node->ranks.end());
    const std::pair own{node->at, *std::min_element(node->ranks.begin(), node->ranks.end())};
    if (!likely || own < *likely) likely = own;
  }
  result.rank = likely->second;
  candidates.erase(std::find(candidates.begin(), candidates.end(), result.rank));
  std::sort(candidates.begin(), candidates.end());
  return result;
}

Verdict verdict_rank_failed() {
  Verdict verdict;
  verdict.by_rank = true;
  return verdict;
}

Verdict verdict_success() {
  return {};
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

Verdict verdict_stragglers(std::vector<Rank> still_running) {
  Verdict verdict;
  verdict.cause = Cause::stragglers;
  verdict.exit_code = exit_code::kTimeLimit;
  verdict.stragglers = std::move(still_running);
  return verdict;
}

Verdict verdict_nodes_lost(std::vector<LostNode> lost) {
  Verdict verdict;
  verdict.cause = Cause::node_lost;
  verdict.exit_code = exit_code::kNodeLost;
  std::sort(lost.begin(), lost.end(),
            [](const LostNode& a, const LostNode& b) { return a.node < b.node; });
  verdict.detail = lost.front().what;
  verdict.lost_nodes = std::move(lost);
  return verdict;
}

Verdict verdict_plan_failed(const Error& error) {
  Verdict verdict;
  verdict.cause = Cause::plan;
  verdict.exit_code = error.exit_code;
  verdict.detail = error.message;
  return verdict;
}

Verdict verdict_mpirun(std::string what, std::string said, int exit_code) {
  Verdict verdict;
  verdict.cause = Cause::mpirun;
  verdict.exit_code = exit_code;
  verdict.detail = std::move(what);
  verdict.said = std::move(said);
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
    report.lost_nodes = verdict.lost_nodes;
    if (!verdict.lost_nodes.empty()) report.lost_node = verdict.lost_nodes.front().node;
    report.signal = verdict.signal;
    report.detail = verdict.detail;
    report.said = verdict.said;
    report.stragglers = verdict.stragglers;
    return;
  }
  std::optional<FirstFailure> first = failures.first();
  if (!first)
    return explain(verdict_internal("a rank failed, but none is known"), failures, report);
  report.perhaps_first = std::move(first->perhaps);
  explain_by_rank(first->rank, report);
}

}  // namespace dlaunch
