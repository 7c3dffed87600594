#include "supervise/attempt.h"

#include <cassert>
#include <utility>

namespace dlaunch {

AttemptProgress::AttemptProgress(std::vector<NodeId> node_of_rank, std::uint32_t nodes)
    : node_of_rank_(std::move(node_of_rank)), ends_(node_of_rank_.size()), nodes_(nodes) {
  for (const NodeId node : node_of_rank_) {
    assert(node.value < nodes);
    ++nodes_[node.value].ranks;
  }
  for (Node& node : nodes_) {
    if (node.ranks == 0) continue;
    node.running = node.ranks;
    node.state = NodeState::open;
    ++open_nodes_;
  }
  running_ = ranks();
}

bool AttemptProgress::is_open(NodeId node) const {
  return node.value < nodes_.size() && nodes_[node.value].state == NodeState::open;
}

std::uint32_t AttemptProgress::running_on(NodeId node) const {
  return is_open(node) ? nodes_[node.value].running : 0;
}

bool AttemptProgress::has_ranks(NodeId node) const {
  return node.value < nodes_.size() && nodes_[node.value].ranks > 0;
}

bool AttemptProgress::is_running(Rank rank) const {
  return rank.value < ends_.size() && ends_[rank.value].how == RankEnd::How::not_started &&
         is_open(node_of(rank));
}

void AttemptProgress::note_start(Rank rank, WallTime at) {
  if (rank.value >= ends_.size() || ends_[rank.value].started) return;
  ends_[rank.value].started = at;
  if (ends_[rank.value].how == RankEnd::How::not_started) ++begun_;
}

void AttemptProgress::note_end(Rank rank, RankEnd end) {
  assert(is_running(rank) && end.how != RankEnd::How::not_started);
  RankEnd& known = ends_[rank.value];
  if (!known.started) ++begun_;
  end.started = known.started;
  known = std::move(end);
  --nodes_[node_of(rank).value].running;
  --running_;
}

void AttemptProgress::close(NodeId index, NodeState how) {
  assert(is_open(index) && (how == NodeState::empty || how == NodeState::lost));
  Node& node = nodes_[index.value];
  running_ -= node.running;
  node.running = 0;
  node.state = how;
  --open_nodes_;
}

RankEnd AttemptProgress::end_of(Rank rank) const {
  RankEnd end = ends_[rank.value];
  const bool node_lost = nodes_[node_of(rank).value].state == NodeState::lost;
  if (end.how == RankEnd::How::not_started && (node_lost || end.started))
    end.how = RankEnd::How::lost;
  return end;
}

std::vector<RankEnd> AttemptProgress::ends() const {
  std::vector<RankEnd> ends;
  ends.reserve(ends_.size());
  for (std::uint32_t i = 0; i < ends_.size(); ++i) ends.push_back(end_of(Rank(i)));
  return ends;
}

std::vector<Rank> AttemptProgress::running_ranks() const {
  std::vector<Rank> running;
  for (std::uint32_t i = 0; i < ends_.size(); ++i) {
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
