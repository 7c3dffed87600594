// Diagnosis: which failure came first, whether a rank ended by itself or because of us, and what a
// run's exit code is (design section 7). Pure values, no clock: all times come with the events.
//
// What can be known. A rank's end carries the time at which its agent saw it, on that node's clock,
// corrected by the measured offset; what is left of the difference between any two clocks, the
// launcher's included, is at most `clock_error`. Two ends on one node are therefore ordered exactly
// (equal times: the agent saw them together), two ends on different nodes only when they are more
// than `clock_error` apart.
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

/// What had been sent to the ranks, and when, on the launcher's wall clock. A signal arrives after
/// it was sent, so an end that is not later than that was not caused by it.
struct Interference {
  int stop_signal = 0;
  std::optional<WallTime> stop_sent;
  std::optional<WallTime> kill_sent;
  bool operator==(const Interference&) const = default;
};

/// How an end that was reported now, with time `at`, has to be understood.
struct EndReading {
  RankEnd::How how = RankEnd::How::exited;  // exited, stopped or killed
  /// False when the end lies so close to the stop that it may have been caused by it after all.
  bool certain = true;
  bool operator==(const EndReading&) const = default;
};

/// Within `clock_error` of the stop the status decides: a rank that ended with the stop signal (or
/// with 128 + its number, as a shell passes it on) was stopped, any other ended by itself.
[[nodiscard]] EndReading read_end(const ExitStatus&, WallTime at, const Interference&, ClockError);

struct RankFailure {
  Rank rank;
  NodeIndex node;
  WallTime at;
  bool certain = true;  // see EndReading
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
  explicit FailureOrder(ClockError clock_error = {}) : clock_error_(clock_error) {}

  void add(const RankFailure&);

  /// A failure may be the first when it is the earliest of its node and no failure elsewhere is
  /// earlier by more than the clock error. Of several, the lowest rank among the certain ones is
  /// named first. nullopt: there was no certain failure. O(nodes with failures).
  [[nodiscard]] std::optional<FirstFailure> first() const;

 private:
  struct NodeFirst {
    WallTime at;
    std::vector<Rank> ranks;  // all with that time
  };

  ClockError clock_error_;
  std::vector<std::optional<NodeFirst>> nodes_;  // index = NodeIndex; certain failures only
  std::vector<RankFailure> uncertain_;
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
  std::optional<NodeIndex> lost_node;
  int signal = 0;
  std::string detail;
  bool operator==(const Verdict&) const = default;
};

[[nodiscard]] Verdict verdict_rank_failed();
/// `signal` 0: the front has gone; nobody reads the code, which is that of SIGHUP.
[[nodiscard]] Verdict verdict_cancelled(int signal);
[[nodiscard]] Verdict verdict_time_limit();
[[nodiscard]] Verdict verdict_node_lost(NodeIndex, std::string what);
[[nodiscard]] Verdict verdict_plan_failed(const Error&);
[[nodiscard]] Verdict verdict_internal(std::string what);

/// Fills cause, exit code, origin and all that explains them; `report.ranks` must be complete.
void explain(const Verdict&, const FailureOrder&, RunReport&);

}  // namespace dlaunch
