// Diagnosis: which failure came first, whether a rank ended by itself or because of us, and what a
// run's exit code is (docs/run-directory.md). Pure values, no clock: all times come with the events.
//
// What can be known. A rank's end carries the time at which its agent saw it, on that node's clock,
// corrected by the measured offset; what is left between that and the launcher's clock is at most
// the end's `clock_error`. Two ends on one node are therefore ordered exactly (equal times: the
// agent saw them together), two ends on different nodes only when they are more than both errors
// apart. Whether a rank ended before our signal, its agent knows exactly.
#pragma once

#include <chrono>
#include <cstdint>
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

/// How an end has to be understood: exited, stopped or killed. `after_signal`: the rank's agent had
/// sent it our stop or kill before; `kill_sent`: KillRanks was among what we sent.
[[nodiscard]] RankEnd::How read_end(const ExitStatus&, bool after_signal, bool kill_sent);

struct RankFailure {
  Rank rank;
  NodeIndex node;
  WallTime at;
  ClockError clock_error{};
  bool operator==(const RankFailure&) const = default;
};

/// `perhaps` are the others of which nobody can tell whether they were earlier, ascending.
struct FirstFailure {
  Rank rank;
  std::vector<Rank> perhaps;
  bool operator==(const FirstFailure&) const = default;
};

/// Collects failures in the order in which messages happen to arrive and says which came first.
/// Adding is O(1) amortised; only what may still be the first is kept.
class FailureOrder {
 public:
  void add(const RankFailure&);

  /// A failure may be the first when it is the earliest of its node and no failure elsewhere is
  /// earlier for certain. Of several, the one whose time is the least is named, then the lowest
  /// rank. nullopt: there was no failure. O(nodes with failures).
  [[nodiscard]] std::optional<FirstFailure> first() const;

 private:
  struct NodeFirst {
    WallTime at;
    ClockError clock_error{};
    std::vector<Rank> ranks;  // all with that time
  };

  std::vector<std::optional<NodeFirst>> nodes_;  // index = NodeIndex
};

/// Why a run ends before, or other than by, all its ranks exiting with 0. The first verdict stands:
/// what happens while the other ranks are being stopped follows from it. Only within `by_rank` the
/// choice stays open until the end, because messages of different nodes arrive in any order. A loss
/// of a node, a limit and a signal have no time of their own that ranks' ends could be compared
/// with.
struct Verdict {
  bool by_rank = false;  // the first failure says all; the members below are not used
  Cause cause = Cause::success;
  int exit_code = exit_code::kOk;
  std::vector<LostNode> lost_nodes;  // when node_lost, at least one
  int signal = 0;
  std::string detail;
  std::string said;  // when mpirun
  std::vector<Rank> stragglers;
  bool operator==(const Verdict&) const = default;
};

[[nodiscard]] Verdict verdict_rank_failed();
/// The ranks that decide have ended well: the others are stopped, and that is no failure.
[[nodiscard]] Verdict verdict_success();
/// `signal` 0: the front has gone; nobody reads the code, which is that of SIGHUP.
[[nodiscard]] Verdict verdict_cancelled(int signal);
[[nodiscard]] Verdict verdict_time_limit();
[[nodiscard]] Verdict verdict_stragglers(std::vector<Rank> still_running);
/// All that could not be connected, at least one; in any order.
[[nodiscard]] Verdict verdict_nodes_lost(std::vector<LostNode>);
[[nodiscard]] Verdict verdict_plan_failed(const Error&);
/// "mpirun on node1 exited with code 1", and its last lines.
[[nodiscard]] Verdict verdict_mpirun(std::string what, std::string said, int exit_code);
[[nodiscard]] Verdict verdict_internal(std::string what);

/// Makes `rank`, which has failed, the cause of the run's end: cause, exit code, origin, first.
void explain_by_rank(Rank rank, RunReport& report);

/// Fills cause, exit code, origin and all that explains them; `report.ranks` must be complete.
void explain(const Verdict&, const FailureOrder&, RunReport&);

}  // namespace dlaunch
