#include "supervise/outcome.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace dlaunch {

RankEnd::How read_end(const ExitStatus& status, bool after_signal, bool kill_sent) {
  if (!after_signal) return RankEnd::How::exited;
  const bool by_kill = status.signaled && status.value == SIGKILL;
  return by_kill && kill_sent ? RankEnd::How::killed : RankEnd::How::stopped;
}

void FailureOrder::add(const RankFailure& failure) {
  const NodeFirst first{failure.at, failure.clock_error, {failure.rank}};
  const auto [known, is_new] = nodes_.try_emplace(failure.node, first);
  if (is_new) return;
  NodeFirst& earliest = known->second;
  if (failure.at < earliest.at) {
    earliest = first;
  } else if (failure.at == earliest.at) {
    earliest.ranks.push_back(failure.rank);
  }
}

std::optional<FirstFailure> FailureOrder::first() const {
  std::optional<WallTime> latest_candidate;  // some node failed before this for certain
  for (const auto& [id, node] : nodes_) {
    const WallTime certain = node.at + node.clock_error;
    if (!latest_candidate || certain < *latest_candidate) latest_candidate = certain;
  }
  if (!latest_candidate) return std::nullopt;

  FirstFailure result;
  std::vector<Rank>& candidates = result.perhaps;
  std::optional<std::pair<WallTime, Rank>> likely;
  for (const auto& [id, node] : nodes_) {
    if (node.at - node.clock_error > *latest_candidate) continue;
    candidates.insert(candidates.end(), node.ranks.begin(), node.ranks.end());
    const std::pair own{node.at, *std::min_element(node.ranks.begin(), node.ranks.end())};
    if (!likely || own < *likely) likely = own;
  }
  result.rank = likely->second;
  candidates.erase(std::find(candidates.begin(), candidates.end(), result.rank));
  std::sort(candidates.begin(), candidates.end());
  return result;
}

void set_failed_rank(Outcome& outcome, Rank rank, const RankEnd& end) {
  outcome.first = rank;
  if (end.start_failure) {
    outcome.cause = Cause::cannot_execute;
    outcome.exit_code = end.start_failure->code();
    return;
  }
  outcome.exit_code = end.status.code();
  if (end.status.mpi != MpiEnd::fine && end.status.mpi != MpiEnd::aborted) {
    outcome.cause = Cause::mpi;  // its own exit code is 0
    return;
  }
  outcome.cause = end.status.signaled ? Cause::signal : Cause::exit_code;
  if (!end.status.out_of_memory.empty()) outcome.cause = Cause::out_of_memory;
  outcome.from_rank = true;
}

namespace ended {

namespace {

Outcome by(Cause cause, int exit_code, std::string detail = "") {
  Outcome outcome;
  outcome.cause = cause;
  outcome.exit_code = exit_code;
  outcome.detail = std::move(detail);
  return outcome;
}

}  // namespace

Outcome by_rank(Rank rank, const RankEnd& end) {
  Outcome outcome;
  set_failed_rank(outcome, rank, end);
  return outcome;
}

Outcome by_cancel(int signal) {
  Outcome outcome = by(Cause::cancelled, exit_code::kSignalBase + (signal != 0 ? signal : SIGHUP));
  outcome.signal = signal;
  return outcome;
}

Outcome by_time_limit(Duration limit) {
  Outcome outcome = by(Cause::time_limit, exit_code::kTimeLimit);
  outcome.limit = limit;
  return outcome;
}

Outcome by_stragglers(std::vector<Rank> still_running, Duration limit) {
  Outcome outcome = by(Cause::stragglers, exit_code::kTimeLimit);
  outcome.stragglers = std::move(still_running);
  outcome.limit = limit;
  return outcome;
}

Outcome by_hang(std::string what, Duration limit) {
  Outcome outcome = by(Cause::hang, exit_code::kTimeLimit, std::move(what));
  outcome.limit = limit;
  return outcome;
}

Outcome by_preemption(NodeId node, std::string what) {
  Outcome outcome = by(Cause::preempted, exit_code::kPreempted, std::move(what));
  outcome.preempted = {node};
  return outcome;
}

Outcome by_lost_nodes(std::vector<LostNode> lost) {
  std::sort(lost.begin(), lost.end(),
            [](const LostNode& a, const LostNode& b) { return a.node < b.node; });
  Outcome outcome = by(Cause::node_lost, exit_code::kNodeLost, lost.front().what);
  outcome.lost_nodes = std::move(lost);
  return outcome;
}

Outcome by_plan_error(const Error& error) {
  return by(Cause::plan, error.exit_code, error.message);
}

Outcome by_starter(std::string what, std::string said, int exit_code) {
  Outcome outcome = by(Cause::starter, exit_code, std::move(what));
  outcome.said = std::move(said);
  return outcome;
}

Outcome by_internal_error(std::string what) {
  return by(Cause::internal, exit_code::kInternal, std::move(what));
}

}  // namespace ended

}  // namespace dlaunch
