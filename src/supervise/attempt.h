// The state of one attempt: how ranks have ended, and which nodes still hold ranks. Bookkeeping
// only; the supervisor decides. Every operation is O(log ranks) unless its comment says otherwise.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "model/ids.h"
#include "model/report.h"
#include "model/time.h"
#include "supervise/outcome.h"
#include "supervise/starter.h"

namespace dlaunch {

/// The ranks of one attempt and the nodes that run them. All other nodes are `unused`. A node is
/// open from the start of its ranks until it is empty or lost; a rank is running from the same
/// moment until its end is known, even before it reports its start.
class AttemptProgress {
 public:
  enum class NodeState : std::uint8_t { unused, open, empty, lost };

  AttemptProgress() = default;
  explicit AttemptProgress(std::vector<NodeId> node_of_rank);

  [[nodiscard]] std::uint32_t ranks() const {
    return static_cast<std::uint32_t>(node_of_rank_.size());
  }
  [[nodiscard]] std::uint32_t running() const { return running_; }
  /// Ranks with a known start or end.
  [[nodiscard]] std::uint32_t begun() const { return begun_; }
  [[nodiscard]] std::uint32_t open_nodes() const { return open_nodes_; }
  /// The nodes with ranks, ascending. O(nodes).
  [[nodiscard]] std::vector<NodeId> nodes() const;
  [[nodiscard]] NodeState state(NodeId) const;
  [[nodiscard]] bool is_open(NodeId node) const { return state(node) == NodeState::open; }
  [[nodiscard]] bool has_ranks(NodeId node) const { return state(node) != NodeState::unused; }
  [[nodiscard]] std::uint32_t running_on(NodeId) const;
  [[nodiscard]] NodeId node_of(Rank rank) const { return node_of_rank_[rank.value]; }

  /// Whether the rank exists, has not ended, and is on an open node.
  [[nodiscard]] bool is_running(Rank) const;

  /// Ignored if the rank does not exist or already has a start. May come after the rank's end.
  void note_start(Rank, WallTime at);
  /// The start in `end` is ignored; the noted one is kept. Only for a rank that is_running().
  void note_end(Rank, RankEnd end);
  /// `how`: empty or lost. Only for a node that is_open().
  void close(NodeId, NodeState how);

  /// How every rank ended, index = Rank. A rank without a reported end is `lost` if its node is
  /// lost or its start is known, else `not_started`. O(ranks).
  [[nodiscard]] std::vector<RankEnd> ends() const;
  /// As in ends(), for one rank.
  [[nodiscard]] RankEnd end_of(Rank) const;
  /// Ascending. O(ranks).
  [[nodiscard]] std::vector<Rank> running_ranks() const;

 private:
  struct Node {
    std::uint32_t running = 0;
    NodeState state = NodeState::open;
  };

  std::vector<NodeId> node_of_rank_;
  std::vector<std::optional<WallTime>> starts_;  // index = Rank
  std::map<Rank, RankEnd> ends_;                 // known so far; `started` is in starts_
  std::map<NodeId, Node> nodes_;
  std::uint32_t running_ = 0;  // on open nodes
  std::uint32_t begun_ = 0;
  std::uint32_t open_nodes_ = 0;
};

/// Deadlines of nodes; entries must be added in the order of their times.
class NodeWaits {
 public:
  struct Wait {
    MonotonicTime due;
    NodeId node;
  };
  void add(Wait wait) { waits_.push_back(wait); }
  /// Drops waits at the front whose node is no longer open. Amortised O(1).
  void forget_closed(const AttemptProgress&);
  [[nodiscard]] std::optional<MonotonicTime> earliest() const;
  /// Removes and returns the node at the front, if its time is over.
  [[nodiscard]] std::optional<NodeId> take_due(MonotonicTime now);

 private:
  std::deque<Wait> waits_;
};

/// Everything that belongs to one attempt; a restart replaces it as a whole.
struct AttemptState {
  Attempt number;
  AttemptProgress progress;
  FailureOrder failures;
  bool kill_sent = false;   // to all nodes
  bool node_stuck = false;  // a node that is connected did not become empty
  bool node_taken = false;  // event::Preempted, for any of its nodes
  bool cancelled = false;   // while it was being stopped for another reason: no attempt follows
  /// Why the attempt ends, once that is decided. The first decision stands: what happens while the
  /// other ranks are being stopped follows from it. Only which rank failed first stays open until
  /// the end, because messages of different nodes arrive in any order. The loss of a node, a limit
  /// and a signal have no time that could be compared with ends of ranks.
  std::optional<Outcome> outcome;
  std::vector<LostNode> not_connected;  // while others are still being connected
  std::optional<TakenPort> taken_port;
  std::optional<Starter> starter;
  bool ended_by_others = false;     // something other than the rank itself or dlaunch ended a rank
  std::vector<bool> decides;        // see event::PlanMade
  std::uint32_t deciding_left = 0;  // ranks that decide and have not succeeded yet
  MonotonicTime began{};            // its ranks were told to start
  MonotonicTime halted{};           // the outcome was decided
  std::optional<Duration> unnoticed;  // see FailedAttempt

  std::optional<MonotonicTime> grace_ends;      // if the grace time is not timeouts.stop
  std::optional<MonotonicTime> stragglers_due;  // timeouts.stragglers_after_success
  std::optional<MonotonicTime>
      kill_due;             // end of the grace time; none before the stop and after the kill
  NodeWaits to_empty;       // all ranks there have ended: killed if NodeEmpty does not come
  NodeWaits to_lose;        // killed: counts as lost if NodeEmpty does not come
  std::set<NodeId> killed;  // KillRanks was sent
};

}  // namespace dlaunch
