#include "supervise/attempt.h"

#include <cassert>
#include <utility>

namespace dlaunch {

AttemptProgress::AttemptProgress(std::vector<NodeId> node_of_rank)
    : node_of_rank_(std::move(node_of_rank)), starts_(node_of_rank_.size()) {
  for (const NodeId node : node_of_rank_) ++nodes_[node].running;
  open_nodes_ = static_cast<std::uint32_t>(nodes_.size());
  running_ = ranks();
}

std::vector<NodeId> AttemptProgress::nodes() const {
  std::vector<NodeId> ids;
  ids.reserve(nodes_.size());
  for (const auto& [id, node] : nodes_) ids.push_back(id);
  return ids;
}

AttemptProgress::NodeState AttemptProgress::state(NodeId node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? NodeState::unused : found->second.state;
}

std::uint32_t AttemptProgress::running_on(NodeId node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? 0 : found->second.running;
}

bool AttemptProgress::is_running(Rank rank) const {
  return rank.value < ranks() && !ends_.contains(rank) && is_open(node_of(rank));
}

void AttemptProgress::note_start(Rank rank, WallTime at) {
  if (rank.value >= ranks() || starts_[rank.value]) return;
  starts_[rank.value] = at;
  if (!ends_.contains(rank)) ++begun_;
}

void AttemptProgress::note_end(Rank rank, RankEnd end) {
  assert(is_running(rank) && end.how != RankEnd::How::not_started);
  if (!starts_[rank.value]) ++begun_;
  ends_.emplace(rank, std::move(end));
  --nodes_.at(node_of(rank)).running;
  --running_;
}

void AttemptProgress::close(NodeId id, NodeState how) {
  assert(is_open(id) && (how == NodeState::empty || how == NodeState::lost));
  Node& node = nodes_.at(id);
  running_ -= node.running;
  node.running = 0;
  node.state = how;
  --open_nodes_;
}

RankEnd AttemptProgress::end_of(Rank rank) const {
  const auto known = ends_.find(rank);
  RankEnd end = known != ends_.end() ? known->second : RankEnd{};
  end.started = starts_[rank.value];
  const bool node_lost = state(node_of(rank)) == NodeState::lost;
  if (end.how == RankEnd::How::not_started && (node_lost || end.started))
    end.how = RankEnd::How::lost;
  return end;
}

std::vector<RankEnd> AttemptProgress::ends() const {
  std::vector<RankEnd> ends;
  ends.reserve(ranks());
  for (std::uint32_t i = 0; i < ranks(); ++i) ends.push_back(end_of(Rank(i)));
  return ends;
}

std::vector<Rank> AttemptProgress::running_ranks() const {
  std::vector<Rank> running;
  for (std::uint32_t i = 0; i < ranks(); ++i) {
    if (is_running(Rank(i))) running.emplace_back(i);
  }
  return running;
}

void NodeWaits::forget_closed(const AttemptProgress& progress) {
  while (!waits_.empty() && !progress.is_open(waits_.front().node)) waits_.pop_front();
}

std::optional<MonotonicTime> NodeWaits::earliest() const {
  if (waits_.empty()) return std::nullopt;
  return waits_.front().due;
}

std::optional<NodeId> NodeWaits::take_due(MonotonicTime now) {
  if (waits_.empty() || waits_.front().due > now) return std::nullopt;
  const NodeId node = waits_.front().node;
  waits_.pop_front();
  return node;
}

}  // namespace dlaunch
