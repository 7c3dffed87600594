// The starter of an attempt: a process on one of its nodes that starts the ranks in place of the
// agents, as mpirun does. Decides what its end means for the attempt, and by when it must have
// started all ranks. Pure: all times are given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "model/event.h"
#include "model/report.h"
#include "model/time.h"
#include "supervise/outcome.h"

namespace dlaunch {

class Starter {
 public:
  /// `where`: the node's name, for messages. The ranks must have begun by `begun_due`, which is
  /// `limit` from now.
  Starter(PlannedStarter planned, const std::string& where, MonotonicTime begun_due, Duration limit)
      : node_(planned.node),
        name_(std::move(planned.name)),
        where_(name_ + " on " + where),
        begun_due_(begun_due),
        limit_(limit) {}

  /// Its node is empty only when the starter has ended, too.
  [[nodiscard]] NodeId node() const { return node_; }

  /// nullopt: all ranks have begun, or it no longer matters.
  [[nodiscard]] std::optional<MonotonicTime> begun_due() const { return begun_due_; }
  void clear_begun_due() { begun_due_.reset(); }

  /// It has ended. An outcome: the attempt ends with it. Messages about ranks that other nodes have
  /// started may arrive until `last_messages`. Only the first call counts.
  [[nodiscard]] std::optional<Outcome> ended(const event::StarterEnded&,
                                             MonotonicTime last_messages);

  /// No rank is left. True once: from now it has a limited time to end.
  [[nodiscard]] bool note_alone() { return !std::exchange(is_alone_, true); }
  /// True once, and only while it runs: it must be told to end. It still waits for ranks that were
  /// stopped by dlaunch, because it is not told about them.
  [[nodiscard]] bool needs_stop() { return !end_ && !std::exchange(is_stopped_, true); }

  /// begun_due() has passed, and only `begun` of `ranks` have begun.
  [[nodiscard]] Outcome too_few(std::uint32_t begun, std::uint32_t ranks) const;
  /// All ranks have ended, and the starter exited with code 0; but something other than the ranks
  /// or dlaunch ended some of them.
  [[nodiscard]] Outcome ended_ranks() const;

  /// Which of two outcomes holds: the one that halted the attempt, or that of the first rank that
  /// failed, at `failed`. A rank's own failure explains more than the starter's exit code, which
  /// follows from it; but when the starter was killed, later ends of ranks may follow from that.
  [[nodiscard]] Outcome settle(Outcome halted, const Outcome& by_rank, WallTime failed) const;

 private:
  [[nodiscard]] Outcome failure() const;

  NodeId node_;
  std::string name_;   // "mpirun"
  std::string where_;  // "mpirun on node1"
  std::optional<MonotonicTime> begun_due_;
  Duration limit_;
  std::optional<event::StarterEnded> end_;
  bool is_alone_ = false;
  bool is_stopped_ = false;
};

}  // namespace dlaunch
