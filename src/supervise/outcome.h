// Outcomes: which failure came first, whether a rank ended by itself or because of us, and the exit
// code that follows (docs/reference/run-folder.md). Pure values, no clock: all times come with the
// events.
//
// What can be known. The time of a rank's end is read by its agent, on that node's clock, and
// corrected by the measured offset; it differs from the launcher's clock by at most `clock_error`.
// Two ends on one node are therefore ordered exactly (equal times: the agent saw them together),
// two ends on different nodes only if they are further apart than both errors together. A rank's
// agent knows exactly whether the rank ended before our signal.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/exit_status.h"
#include "model/ids.h"
#include "model/report.h"
#include "model/result.h"
#include "model/time.h"

namespace dlaunch {

using ClockError = std::chrono::nanoseconds;

/// Classifies an end: exited, stopped or killed. `after_signal`: the rank's agent had sent it our
/// stop or kill before; `kill_sent`: we had sent KillRanks.
[[nodiscard]] RankEnd::How read_end(const ExitStatus&, bool after_signal, bool kill_sent);

struct RankFailure {
  Rank rank;
  NodeId node;
  WallTime at;
  ClockError clock_error{};
  bool operator==(const RankFailure&) const = default;
};

/// `perhaps`: the others that may have failed earlier, ascending.
struct FirstFailure {
  Rank rank;
  std::vector<Rank> perhaps;
  bool operator==(const FirstFailure&) const = default;
};

/// Collects failures in the order in which their messages arrive and says which came first.
/// Adding is O(log nodes); only what may still be the first is kept.
class FailureOrder {
 public:
  void add(const RankFailure&);

  /// A failure may be the first when it is the earliest of its node and no failure elsewhere is
  /// certainly earlier. Of several, the one with the earliest time is named, then the lowest rank.
  /// nullopt: there was no failure. O(nodes with failures).
  [[nodiscard]] std::optional<FirstFailure> first() const;

 private:
  struct NodeFirst {
    WallTime at;
    ClockError clock_error{};
    std::vector<Rank> ranks;  // all with that time
  };

  std::map<NodeId, NodeFirst> nodes_;
};

/// Names `rank`, which has failed with `end`, as the cause of `outcome`: cause, exit code, first.
/// After a failed start and a broken MPI rule the exit code is dlaunch's, else the rank's.
void set_failed_rank(Outcome& outcome, Rank rank, const RankEnd& end);

/// The outcomes that an attempt can have besides success.
namespace ended {

[[nodiscard]] Outcome by_rank(Rank, const RankEnd&);
/// `signal` 0: the front is gone; then the exit code is that of SIGHUP, and no process reads it.
[[nodiscard]] Outcome by_cancel(int signal);
[[nodiscard]] Outcome by_time_limit(Duration);
[[nodiscard]] Outcome by_stragglers(std::vector<Rank> still_running, Duration limit);
/// `what`: "no rank made progress for 60 s (timeouts.hang)".
[[nodiscard]] Outcome by_hang(std::string what, Duration limit);
/// `what`: "node2 is about to be taken away".
[[nodiscard]] Outcome by_preemption(NodeId node, std::string what);
/// At least one, in any order.
[[nodiscard]] Outcome by_lost_nodes(std::vector<LostNode>);
[[nodiscard]] Outcome by_plan_error(const Error&);
/// `what`: "mpirun on node1 exited with code 1"; `said`: its last lines.
[[nodiscard]] Outcome by_starter(std::string what, std::string said, int exit_code);
[[nodiscard]] Outcome by_internal_error(std::string what);

}  // namespace ended

}  // namespace dlaunch
