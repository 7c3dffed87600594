#include "launch/watch/watch_side.h"

#include <algorithm>
#include <chrono>

#include "model/exit_status.h"

namespace dlaunch {

namespace {

using Millis = std::chrono::milliseconds;

/// CPU % is the mean over this time: long enough to be steady, short enough to be current.
constexpr std::chrono::seconds kMeasured{5};

std::uint64_t millis(MonotonicTime duration) {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(std::chrono::duration_cast<Millis>(duration).count(), 0));
}

std::uint32_t later(std::uint32_t age_ms, std::uint64_t passed_ms) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::uint64_t{age_ms} + passed_ms, UINT32_MAX));
}

}  // namespace

void WatchSide::begin(const LaunchPlan& plan, MonotonicTime now) {
  if (began_ != MonotonicTime(0) && attempt_ == plan.attempt) return;
  attempt_ = plan.attempt;
  began_ = now;
  state_ = "running";
  nodes_.clear();
  places_.clear();
  for (const NodePlan& node : plan.nodes) {
    places_.emplace(node.id, static_cast<std::uint32_t>(nodes_.size()));
    nodes_.push_back({node.id, node.name, {}, now});
  }
  ranks_.assign(plan.ranks.size(), {});
  for (const RankPlan& rank : plan.ranks) {
    SeenRank& seen = ranks_[rank.rank.value];
    seen.node = rank.node.value;
    nodes_[seen.node].ranks.push_back(rank.rank);
    seen.pulse.rank = rank.rank;
  }
}

WatchSide::SeenRank* WatchSide::find(Attempt attempt, Rank rank) {
  return attempt == attempt_ && rank.value < ranks_.size() ? &ranks_[rank.value] : nullptr;
}

void WatchSide::on(NodeId node, const wire::Pulse& pulse, MonotonicTime now) {
  const auto place = places_.find(node);
  if (place == places_.end() || pulse.attempt != attempt_) return;
  SeenNode& sender = nodes_[place->second];
  sender.pulse = pulse.node;
  sender.heard = now;
  for (const RankPulse& one : pulse.ranks) {
    SeenRank* const rank = find(attempt_, one.rank);
    if (rank == nullptr || nodes_[rank->node].id != node) continue;
    if (rank->heard == MonotonicTime(0)) rank->older = rank->newer = {now, one.cpu_ms};
    rank->pulse = one;
    rank->heard = now;
  }
  // Unchanged ranks are included: they have used no CPU time.
  for (const Rank number : sender.ranks) {
    SeenRank& rank = ranks_[number.value];
    if (now - rank.newer.at < kMeasured) continue;
    rank.older = std::exchange(rank.newer, {now, rank.pulse.cpu_ms});
  }
}

void WatchSide::tell(const Event& event) {
  if (const auto* started = std::get_if<event::RankStarted>(&event)) {
    if (SeenRank* const rank = find(started->attempt, started->rank)) rank->started = true;
  } else if (const auto* exited = std::get_if<event::RankExited>(&event)) {
    if (SeenRank* const rank = find(exited->attempt, exited->rank))
      rank->end = describe(exited->status);
  } else if (const auto* failed = std::get_if<event::RankNotStarted>(&event)) {
    if (SeenRank* const rank = find(failed->attempt, failed->rank)) rank->end = "could not start";
  } else if (const auto* lost = std::get_if<event::NodeLost>(&event)) {
    for (SeenRank& rank : ranks_) {
      if (nodes_[rank.node].id == lost->node && rank.end.empty()) rank.end = "lost with its node";
    }
  }
}

RankStatus WatchSide::status_of(const SeenRank& rank, MonotonicTime now) const {
  constexpr std::uint64_t kPercent = 100;
  RankStatus status{rank.node, rank.started, rank.end, 0, rank.pulse};
  if (rank.heard == MonotonicTime(0)) {
    status.pulse.quiet_ms = later(0, millis(now - began_));
    return status;
  }
  status.pulse.quiet_ms = later(rank.pulse.quiet_ms, millis(now - rank.heard));
  status.pulse.heartbeat_ms = later(rank.pulse.heartbeat_ms, millis(now - rank.heard));
  const std::uint64_t passed = millis(nodes_[rank.node].heard - rank.older.at);
  if (passed > 0 && rank.end.empty() && rank.pulse.cpu_ms > rank.older.cpu_ms) {
    status.cpu_percent = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        (rank.pulse.cpu_ms - rank.older.cpu_ms) * kPercent / passed, UINT32_MAX));
  }
  return status;
}

StatusReply WatchSide::status(MonotonicTime now) const {
  StatusReply reply;
  reply.state = state_;
  reply.attempt = attempt_.value;
  reply.is_watched = is_watched_;
  reply.metrics = metrics_;
  if (began_ == MonotonicTime(0)) return reply;
  reply.attempt_ms = millis(now - began_);
  for (const SeenNode& node : nodes_) {
    reply.nodes.push_back({node.name, later(0, millis(now - node.heard)), node.pulse});
  }
  for (const SeenRank& rank : ranks_) reply.ranks.push_back(status_of(rank, now));
  return reply;
}

}  // namespace dlaunch
