#include "supervise/node_return.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dlaunch {

namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(500);
// Time for a login; a try with less time proves nothing about the node.
constexpr Duration kShortestTry = std::chrono::seconds(2);
// The answers that a connected node gives during a try, each within the limit of a try: its facts,
// and whether what the ranks need is there.
constexpr int kAnswers = 2;

/// A limit beyond the clock's range means no limit.
MonotonicTime later(MonotonicTime from, Duration by) {
  const MonotonicTime farthest = MonotonicTime::max();
  return by >= std::chrono::duration_cast<Duration>(farthest - from) ? farthest : from + by;
}

}  // namespace

const NodeReturns::Entry* NodeReturns::find(NodeId node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : &found->second;
}

void NodeReturns::note_lost(LostNode lost, MonotonicTime fenced) {
  Entry& entry = nodes_[lost.node];
  if (entry.state == State::there) entry.pause = longer(entry.pause);
  entry.state = State::noted;
  entry.about = {std::move(lost), ""};
  entry.fenced = fenced;
}

void NodeReturns::wait_for(NodeId node, MonotonicTime now) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || found->second.state != State::noted) return;
  Entry& entry = found->second;
  entry.state = State::pausing;
  const MonotonicTime may_try = std::max(now, entry.fenced);
  if (!entry.due) entry.due = later(may_try, limit_);
  entry.try_at = std::max(may_try, std::min(may_try + entry.pause, last_chance(entry)));
}

Duration NodeReturns::longer(Duration pause) const {
  return std::clamp(2 * pause, kFirstPause, longest_pause_);
}

MonotonicTime NodeReturns::last_chance(const Entry& entry) const {
  return *entry.due - std::min({kShortestTry, try_limit_, limit_});
}

void NodeReturns::try_failed(NodeId node, std::string last_words, MonotonicTime now) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || found->second.state != State::trying) return;
  Entry& entry = found->second;
  entry.state = State::pausing;
  entry.about.last_words = std::move(last_words);
  entry.pause = longer(entry.pause);
  entry.try_at = std::min(now + entry.pause, last_chance(entry));
  if (entry.try_at <= now) entry.due = now;
}

void NodeReturns::came_back(NodeId node) {
  const auto found = nodes_.find(node);
  if (found != nodes_.end()) found->second.state = State::there;
}

MonotonicTime NodeReturns::fenced(NodeId node) const {
  const Entry* entry = find(node);
  return entry == nullptr ? MonotonicTime::min() : entry->fenced;
}

bool NodeReturns::waits_for(NodeId node) const {
  const Entry* entry = find(node);
  return entry != nullptr && (entry->state == State::pausing || entry->state == State::trying);
}

bool NodeReturns::is_trying(NodeId node) const {
  const Entry* entry = find(node);
  return entry != nullptr && entry->state == State::trying;
}

std::vector<NodeId> NodeReturns::being_tried() const {
  std::vector<NodeId> nodes;
  for (const auto& [node, entry] : nodes_) {
    if (entry.state == State::trying) nodes.push_back(node);
  }
  return nodes;
}

std::vector<NodeReturns::Try> NodeReturns::take_tries(MonotonicTime now) {
  std::vector<Try> tries;
  for (auto& [node, entry] : nodes_) {
    if (entry.state != State::pausing || entry.try_at > now || *entry.due <= now) continue;
    entry.state = State::trying;
    const auto left = std::chrono::duration_cast<Duration>(*entry.due - now);
    const Duration within = std::clamp(left, Duration(1), std::max(try_limit_, Duration(1)));
    entry.silent_at = later(now, within);
    for (int answer = 0; answer < kAnswers; ++answer)
      entry.silent_at = later(entry.silent_at, std::max(try_limit_, Duration(1)));
    tries.push_back({node, within});
  }
  return tries;
}

std::vector<NodeId> NodeReturns::silent(MonotonicTime now) const {
  std::vector<NodeId> nodes;
  for (const auto& [node, entry] : nodes_) {
    if (entry.state == State::trying && entry.silent_at <= now) nodes.push_back(node);
  }
  return nodes;
}

std::vector<NodeReturns::Waited> NodeReturns::overdue(MonotonicTime now) const {
  std::vector<Waited> nodes;
  for (const auto& [node, entry] : nodes_) {
    if (waits_for(node) && *entry.due <= now) nodes.push_back(entry.about);
  }
  return nodes;
}

std::optional<MonotonicTime> NodeReturns::earliest() const {
  std::optional<MonotonicTime> earliest;
  for (const auto& [node, entry] : nodes_) {
    if (!waits_for(node)) continue;
    const MonotonicTime next =
        std::min(entry.state == State::pausing ? entry.try_at : entry.silent_at, *entry.due);
    if (next == MonotonicTime::max()) continue;  // nothing has a limit
    if (!earliest || next < *earliest) earliest = next;
  }
  return earliest;
}

}  // namespace dlaunch
