#include "supervise/attempt.h"

#include <cassert>
#include <utility>

namespace dlaunch {

AttemptProgress::AttemptProgress(std::vector<NodeIndex> node_of_rank, std::uint32_t nodes)
    : node_of_rank_(std::move(node_of_rank)), ends_(node_of_rank_.size()), nodes_(nodes) {
  for (const NodeIndex node : node_of_rank_) {
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

bool AttemptProgress::is_open(NodeIndex node) const {
  return node.value < nodes_.size() && nodes_[node.value].state == NodeState::open;
}

std::uint32_t AttemptProgress::running_on(NodeIndex node) const {
  return is_open(node) ? nodes_[node.value].running : 0;
}

bool AttemptProgress::has_ranks(NodeIndex node) const {
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

void AttemptProgress::close(NodeIndex index, NodeState how) {
  assert(is_open(index) && (how == NodeState::empty || how == NodeState::lost));
  Node& node = nodes_[index.value];
  running_ -= node.running;
  node.running = 0;
  node.state = how;
  --open_nodes_;
}

std::vector<RankEnd> AttemptProgress::ends() const {
  std::vector<RankEnd> ends = ends_;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    RankEnd& end = ends[i];
    if (end.how != RankEnd::How::not_started) continue;
    const bool node_lost = nodes_[node_of_rank_[i].value].state == NodeState::lost;
    if (node_lost || end.started) end.how = RankEnd::How::lost;
  }
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

std::optional<NodeIndex> NodeWaits::take_due(MonotonicTime now) {
  if (waits_.empty() || waits_.front().due > now) return std::nullopt;
  const NodeIndex node = waits_.front().node;
  waits_.pop_front();
  return node;
}

}  // namespace dlaunch
