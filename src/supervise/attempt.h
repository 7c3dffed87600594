// What is known of one attempt: which ranks have ended how, and which nodes still hold some.
// Bookkeeping only; decisions are the supervisor's. Every operation is O(1) where nothing else is
// said.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "model/event.h"
#include "model/ids.h"
#include "model/report.h"
#include "model/time.h"
#include "supervise/diagnosis.h"

namespace dlaunch {

/// Ranks and nodes of one attempt. A node is open from the start of its ranks until it is empty or
/// lost; a rank is running from then until its end is known, whether or not it has reported its
/// start.
class AttemptProgress {
 public:
  enum class NodeState : std::uint8_t { unused, open, empty, lost };

  AttemptProgress() = default;
  /// Every index in `node_of_rank` must be below `nodes`.
  AttemptProgress(std::vector<NodeIndex> node_of_rank, std::uint32_t nodes);

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(ends_.size()); }
  [[nodiscard]] std::uint32_t running() const { return running_; }
  /// Of which a start, or an end, is known.
  [[nodiscard]] std::uint32_t begun() const { return begun_; }
  [[nodiscard]] std::uint32_t open_nodes() const { return open_nodes_; }
  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] bool is_open(NodeIndex) const;
  [[nodiscard]] std::uint32_t running_on(NodeIndex) const;
  [[nodiscard]] bool has_ranks(NodeIndex) const;
  [[nodiscard]] NodeIndex node_of(Rank rank) const { return node_of_rank_[rank.value]; }

  /// True while news of this rank can still be true: it exists, has not ended, and its node is
  /// open.
  [[nodiscard]] bool is_running(Rank) const;

  /// Harmless when it comes late, twice, or for a rank that does not exist.
  void note_start(Rank, WallTime at);
  /// `end` without `started`, which is kept. Only for a rank that is_running().
  void note_end(Rank, RankEnd end);
  /// empty or lost. Only for a node that is_open().
  void close(NodeIndex, NodeState how);

  /// How every rank ended, index = Rank. Ranks whose end nobody reported are `lost` on a lost node
  /// and when they are known to have started, else `not_started`. O(ranks).
  [[nodiscard]] std::vector<RankEnd> ends() const;
  /// Those that are running, ascending. O(ranks).
  [[nodiscard]] std::vector<Rank> running_ranks() const;

 private:
  struct Node {
    std::uint32_t ranks = 0;
    std::uint32_t running = 0;
    NodeState state = NodeState::unused;
  };

  std::vector<NodeIndex> node_of_rank_;
  std::vector<RankEnd> ends_;  // `how` is not_started until the end is known
  std::vector<Node> nodes_;    // index = NodeIndex
  std::uint32_t running_ = 0;  // on open nodes
  std::uint32_t begun_ = 0;
  std::uint32_t open_nodes_ = 0;
};

/// Nodes that must do something by a time; entries are added in the order of their times.
class NodeWaits {
 public:
  struct Wait {
    MonotonicTime due;
    NodeIndex node;
  };
  void add(Wait wait) { waits_.push_back(wait); }
  /// Drops waits at the front whose node is not open any more. Amortised O(1).
  void forget_closed(const AttemptProgress&);
  [[nodiscard]] std::optional<MonotonicTime> earliest() const;
  /// The node of the front, removed, if its time has come.
  [[nodiscard]] std::optional<NodeIndex> take_due(MonotonicTime now);

 private:
  std::deque<Wait> waits_;
};

/// All that belongs to one attempt; a restart replaces it as a whole.
struct AttemptState {
  Attempt number;
  AttemptProgress progress;
  FailureOrder failures;
  bool kill_sent = false;   // to all nodes
  bool node_stuck = false;  // a node that is connected did not become empty
  bool cancelled = false;   // while it was being stopped for another reason: no attempt follows
  std::optional<Verdict> verdict;
  std::vector<LostNode> not_connected;  // while others are still being connected
  std::optional<TakenPort> taken_port;
  std::optional<NodeIndex> mpirun_on;  // see event::PlanMade
  std::optional<event::MpirunEnded> mpirun_end;
  bool ended_by_others = false;     // something other than the rank itself or dlaunch ended a rank
  bool mpirun_is_alone = false;     // no rank is left, and mpirun has its time to end
  bool mpirun_is_stopped = false;   // it was told to end
  std::vector<bool> decides;        // see event::PlanMade
  std::uint32_t deciding_left = 0;  // that have not ended well so far
  MonotonicTime began{};            // its ranks were told to start
  MonotonicTime halted{};           // the verdict fell

  std::optional<MonotonicTime> begun_due;       // for mpirun: all ranks have begun
  std::optional<MonotonicTime> stragglers_due;  // timeouts.stragglers_after_success
  std::optional<MonotonicTime>
      kill_due;              // end of the grace time; none before the stop and after the kill
  NodeWaits to_empty;        // all ranks there have ended: killed if NodeEmpty does not come
  NodeWaits to_lose;         // killed: counts as lost if NodeEmpty does not come
  std::vector<bool> killed;  // index = NodeIndex: KillRanks was sent
};

}  // namespace dlaunch
