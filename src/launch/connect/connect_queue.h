// Which nodes are connecting, which wait for their turn, and which retry after a refusal. Pure:
// times are arguments, and the queue itself starts nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "model/ids.h"
#include "model/time.h"

namespace dlaunch {

/// Every node that was added is waiting, connecting or over. Each operation costs at most
/// O(nodes that are not over).
class ConnectQueue {
 public:
  /// At most `parallel` nodes are connecting at once. `seed`: for the jitter.
  ConnectQueue(std::size_t parallel, std::uint64_t seed);

  /// The node waits for its turn from now on; replaces an earlier entry of the node.
  void add(NodeId node, MonotonicTime deadline);
  /// A server refused this node for now: the node waits for a pause that doubles each time, from
  /// 0.2 s to 3 s, with a jitter of 50 %, so that nodes refused together do not retry together.
  void refused(NodeId node, MonotonicTime now);
  void over(NodeId node);
  /// Postpones earlier deadlines to this time, because the user is asked something.
  void extend_all(MonotonicTime deadline);
  /// Postpones the deadline of one node.
  void extend(NodeId node, MonotonicTime by);

  /// Nodes whose turn it is, in the order of their numbers; they are connecting from here on.
  [[nodiscard]] std::vector<NodeId> start(MonotonicTime now);
  /// Nodes whose deadline has passed; they are over.
  [[nodiscard]] std::vector<NodeId> expire(MonotonicTime now);
  /// When start() or expire() may next return something, unless another call comes first.
  [[nodiscard]] std::optional<MonotonicTime> next() const;

  [[nodiscard]] std::size_t connecting() const { return connecting_; }
  [[nodiscard]] bool knows(NodeId node) const { return nodes_.contains(node.value); }

 private:
  struct Entry {
    bool connecting = false;
    MonotonicTime not_before{};
    MonotonicTime deadline{};
    unsigned refusals = 0;
  };

  std::size_t parallel_;
  std::minstd_rand random_;
  std::map<std::uint32_t, Entry> nodes_;
  std::size_t connecting_ = 0;
};

}  // namespace dlaunch
