// Who is connecting, who waits for a place, and who comes again after a refusal. Pure: times are
// given, and nothing is started here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "model/ids.h"
#include "model/time.h"

namespace dlaunch {

/// Every node that was added is waiting, or on its way, or over. Operations are O(nodes that are
/// not over) at most.
class ConnectQueue {
 public:
  /// At most `parallel` nodes are on their way at once. `seed`: of the jitter.
  ConnectQueue(std::size_t parallel, std::uint64_t seed);

  /// Waits for a place from now on; replaces what was known of the node.
  void add(NodeIndex node, MonotonicTime deadline);
  /// A server would not take this one now: it comes again after a pause, which doubles each time
  /// (0.2 s up to 3 s, each between a half and one and a half of that, so that those refused
  /// together do not come together again).
  void refused(NodeIndex node, MonotonicTime now);
  void over(NodeIndex node);
  /// Nobody is over before that; for when a person is asked.
  void extend_all(MonotonicTime deadline);

  /// Those whose turn it is, in the order of their numbers; they are on their way from here on.
  [[nodiscard]] std::vector<NodeIndex> start(MonotonicTime now);
  /// Those whose deadline has come; they are over.
  [[nodiscard]] std::vector<NodeIndex> expire(MonotonicTime now);
  /// When start() or expire() may have something the next time without any other call before.
  [[nodiscard]] std::optional<MonotonicTime> next() const;

  [[nodiscard]] std::size_t on_their_way() const { return on_their_way_; }
  [[nodiscard]] bool knows(NodeIndex node) const { return nodes_.contains(node.value); }

 private:
  struct Entry {
    bool on_its_way = false;
    MonotonicTime not_before{};
    MonotonicTime deadline{};
    unsigned refusals = 0;
  };

  std::size_t parallel_;
  std::minstd_rand random_;
  std::map<std::uint32_t, Entry> nodes_;
  std::size_t on_their_way_ = 0;
};

}  // namespace dlaunch
