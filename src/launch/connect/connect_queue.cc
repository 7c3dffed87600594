#include "launch/connect/connect_queue.h"

#include <algorithm>
#include <chrono>

namespace dlaunch {

namespace {

constexpr std::chrono::milliseconds kFirstPause{200};
constexpr std::chrono::milliseconds kLongestPause{3000};

}  // namespace

ConnectQueue::ConnectQueue(std::size_t parallel, std::uint64_t seed)
    : parallel_(std::max<std::size_t>(parallel, 1)),
      random_(static_cast<std::minstd_rand::result_type>(seed | 1)) {}

void ConnectQueue::add(NodeId node, MonotonicTime deadline) {
  over(node);
  nodes_[node.value] = Entry{false, MonotonicTime(0), deadline, 0};
}

void ConnectQueue::refused(NodeId node, MonotonicTime now) {
  const auto found = nodes_.find(node.value);
  if (found == nodes_.end() || !found->second.connecting) return;
  Entry& entry = found->second;
  entry.connecting = false;
  --connecting_;
  const auto pause = std::min(kFirstPause * (1U << std::min(entry.refusals, 5U)), kLongestPause);
  ++entry.refusals;
  std::uniform_real_distribution<double> spread(0.5, 1.5);
  entry.not_before = now + std::chrono::duration_cast<MonotonicTime>(pause * spread(random_));
}

void ConnectQueue::over(NodeId node) {
  const auto found = nodes_.find(node.value);
  if (found == nodes_.end()) return;
  if (found->second.connecting) --connecting_;
  nodes_.erase(found);
}

void ConnectQueue::extend_all(MonotonicTime deadline) {
  for (auto& [node, entry] : nodes_) entry.deadline = std::max(entry.deadline, deadline);
}

void ConnectQueue::extend(NodeId node, MonotonicTime by) {
  if (const auto found = nodes_.find(node.value); found != nodes_.end())
    found->second.deadline += by;
}

std::vector<NodeId> ConnectQueue::start(MonotonicTime now) {
  std::vector<NodeId> started;
  for (auto& [node, entry] : nodes_) {
    if (connecting_ >= parallel_) break;
    if (entry.connecting || entry.not_before > now) continue;
    entry.connecting = true;
    ++connecting_;
    started.emplace_back(node);
  }
  return started;
}

std::vector<NodeId> ConnectQueue::expire(MonotonicTime now) {
  std::vector<NodeId> expired;
  for (const auto& [node, entry] : nodes_) {
    if (entry.deadline <= now) expired.emplace_back(node);
  }
  for (const NodeId node : expired) over(node);
  return expired;
}

std::optional<MonotonicTime> ConnectQueue::next() const {
  std::optional<MonotonicTime> earliest;
  const auto consider = [&](MonotonicTime time) {
    if (!earliest || time < *earliest) earliest = time;
  };
  for (const auto& [node, entry] : nodes_) {
    consider(entry.deadline);
    if (!entry.connecting && connecting_ < parallel_) consider(entry.not_before);
  }
  return earliest;
}

}  // namespace dlaunch
