// Which nodes get dlaunch from the launcher, and which from a node that has it. Pure: times are
// arguments, and the relay itself sends nothing.
//
// The launcher feeds two nodes; the others wait until the agents of these two run. Then each of the
// two feeds up to three nodes at a time, and so does each node that was fed. So each level is four
// times as large as the one before, and the launcher's link carries two copies. If nodes cannot
// feed each other, the launcher feeds all of them at once.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "model/ids.h"
#include "model/time.h"

namespace dlaunch {

class ProgramRelay {
 public:
  /// With fewer nodes, the launcher feeds all of them at once: that takes no longer.
  static constexpr std::size_t kFewestNodes = 16;
  static constexpr std::size_t kSeeds = 2;
  static constexpr std::size_t kGuests = 3;
  /// After this many failures, if they outnumber the successes, no node is asked any more.
  static constexpr std::size_t kFailures = 3;

  struct Feed {
    NodeId node;
    std::optional<NodeId> from;  // nullopt: the launcher
    bool operator==(const Feed&) const = default;
  };

  /// The node lacks the program. From `until` on, it no longer waits for another node.
  void lacks(NodeId node, MonotonicTime until);
  /// The node's agent runs, and can feed others.
  void has(NodeId node);
  /// The node got nothing from its holder, and has to be fed by the launcher. `by_holder`: the
  /// holder is to blame, and feeds no more.
  void failed(NodeId node, bool by_holder);
  /// The holder's agent cannot be asked any more.
  void gone(NodeId holder) { holders_.erase(holder); }
  /// The holder has no address that others could reach. If no holder has one, nodes are no longer
  /// asked.
  void cannot_feed(NodeId holder);
  /// Closed: from now on the launcher feeds all nodes; not closed: other nodes may feed, too.
  void close(bool closed) { closed_ = closed; }
  /// Whether the launcher feeds all nodes.
  [[nodiscard]] bool is_off() const;
  /// The node has the program, or was given up. Allowed for a node that never lacked the program.
  void over(NodeId node, bool has_it);

  /// The nodes that are to be fed now, in the order of their numbers.
  [[nodiscard]] std::vector<Feed> next(MonotonicTime now);
  /// When next() may return something, unless another call comes first.
  [[nodiscard]] std::optional<MonotonicTime> deadline() const;

 private:
  [[nodiscard]] std::optional<NodeId> free_holder() const;
  [[nodiscard]] bool launcher_may_feed() const;
  void leave_holder(const std::optional<NodeId>& holder);

  std::map<NodeId, MonotonicTime> waiting_;          // until when they wait for others
  std::map<NodeId, std::optional<NodeId>> feeding_;  // by whom
  std::map<NodeId, std::size_t> holders_;            // how many they feed
  std::size_t failures_ = 0;
  std::size_t successes_ = 0;
  std::size_t unable_ = 0;  // answers of holders that cannot feed
  bool closed_ = false;
};

}  // namespace dlaunch
