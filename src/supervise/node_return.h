// Lost nodes: when to try each again, and how long to wait for it
// (docs/how-to/restart-after-a-failure.md). Pure: all times are given.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/report.h"
#include "model/time.h"

namespace dlaunch {

/// The states of a node: noted as lost -> waited for, with one try after the other -> there again.
/// A node that is there again may be lost and waited for once more, within the limit that began
/// with the first wait. forget_all() ends that limit.
class NodeReturns {
 public:
  /// `limit`: for each node; Duration::max(): none. `try_limit`: for one try.
  NodeReturns(Duration limit, Duration try_limit, Duration longest_pause = std::chrono::seconds(8))
      : limit_(limit), try_limit_(try_limit), longest_pause_(longest_pause) {}

  struct Try {
    NodeId node;
    Duration within{};  // at least 1 ms
  };
  struct Waited {
    LostNode lost;
    std::string last_words;  // the last try's error; empty: none has failed
  };

  /// The first try begins no earlier than `fenced`: ranks may run there until then. A node that was
  /// there again and is lost once more is tried after a pause.
  void note_lost(LostNode lost, MonotonicTime fenced);
  /// For a node that is noted. Its limit begins with the first time that it may be tried.
  void wait_for(NodeId node, MonotonicTime now);
  /// The try has failed. Another one follows after a pause, or the node is overdue if the limit
  /// leaves no time for it. Pauses double from 0.5 s to `longest_pause`; the last try begins 2 s
  /// before the limit at the latest.
  void try_failed(NodeId node, std::string last_words, MonotonicTime now);
  /// The try has succeeded.
  void came_back(NodeId node);
  /// The time until which ranks of an earlier attempt may run on the node; the minimum: none do.
  [[nodiscard]] MonotonicTime fenced(NodeId node) const;
  [[nodiscard]] bool waits_for(NodeId node) const;
  [[nodiscard]] bool is_trying(NodeId node) const;

  /// Nodes whose try has lasted so long that they must have been connected and yet have
  /// reported nothing; for each of them try_failed() is due.
  [[nodiscard]] std::vector<NodeId> silent(MonotonicTime now) const;
  /// Nodes with a try under way.
  [[nodiscard]] std::vector<NodeId> being_tried() const;
  /// The tries that are due; each counts as under way from now on.
  [[nodiscard]] std::vector<Try> take_tries(MonotonicTime now);
  /// Nodes whose limit has passed, in ascending order.
  [[nodiscard]] std::vector<Waited> overdue(MonotonicTime now) const;
  /// The next time at which take_tries(), silent() or overdue() may return something.
  [[nodiscard]] std::optional<MonotonicTime> earliest() const;
  void forget(NodeId node) { nodes_.erase(node); }
  /// An attempt runs: nodes that are lost from now on begin a new limit.
  void forget_all() { nodes_.clear(); }

 private:
  enum class State : std::uint8_t { noted, pausing, trying, there };
  struct Entry {
    State state = State::noted;
    Waited about;
    MonotonicTime fenced{};
    std::optional<MonotonicTime> due;  // set by the first wait_for()
    MonotonicTime try_at{};            // while pausing
    MonotonicTime silent_at{};         // while trying
    Duration pause{};
  };
  [[nodiscard]] const Entry* find(NodeId node) const;
  [[nodiscard]] Duration longer(Duration pause) const;
  [[nodiscard]] MonotonicTime last_chance(const Entry& entry) const;

  Duration limit_;
  Duration try_limit_;
  Duration longest_pause_;
  std::map<NodeId, Entry> nodes_;
};

}  // namespace dlaunch
