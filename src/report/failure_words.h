// Phrases about a failure: which rank was first, how it ended, what came before. report/summary.h
// puts them on a screen. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/summary.h"

namespace dlaunch {

/// How to run a script that was given as a program; empty if that is not a likely cause.
/// `commands`: those of the plan.
[[nodiscard]] std::string script_advice(const StartFailure& failure,
                                        const std::vector<CommandPlan>& commands);

/// The first line of `text`, safe for a terminal.
[[nodiscard]] std::string one_line(std::string_view text);

/// `input` must outlive this object.
class FailureWords {
 public:
  explicit FailureWords(const SummaryInput& input)
      : in_(input), report_(input.report), outcome_(input.report.outcome) {}

  /// "FAILED after 12 s: rank 1 on node2 exited with code 1, first of 4, after 2 restarts"
  [[nodiscard]] std::string headline() const;
  /// "node2: No route to host (last heard 2026-11-20T21:01:42Z)"
  [[nodiscard]] std::string lost_line(const LostNode& lost) const;
  /// One text for each earlier attempt, only for the last ones if there are many: "attempt 0: rank
  /// 1 exited with code 1 after 12 s; up again in 60 ms, 20 steps redone".
  [[nodiscard]] std::vector<std::string> earlier_attempts() const;
  /// "1 h 52 min productive (91 %), 5 min recomputed (4 %), 6 min other"; empty without a restart.
  [[nodiscard]] std::string spent() const;
  /// The number of restarts whose ranks ran.
  [[nodiscard]] std::size_t restarts() const;
  /// Whether the run ended in the back-off after a failed attempt; the report's ranks are then
  /// those of that attempt.
  [[nodiscard]] bool in_back_off() const;
  /// Whether the run ended while the next attempt was connecting to its nodes, before its ranks
  /// started.
  [[nodiscard]] bool before_ranks() const;
  /// "restart 2 of 5"; "attempt 3" if the next attempt does not count as a restart.
  [[nodiscard]] static std::string next_attempt(const FailedAttempt& failed);
  /// "1", "0,2-5": the ranks whose output is most useful, for `dlaunch logs --rank`. outcome.first
  /// must be set.
  [[nodiscard]] std::string ranks_to_read() const;
  /// "rank 1 on node2"
  [[nodiscard]] std::string who(Rank rank) const;
  /// " on node1"; empty without a plan.
  [[nodiscard]] std::string on_node(Rank rank) const;

 private:
  [[nodiscard]] std::string first_failure() const;
  [[nodiscard]] std::string left_early() const;
  [[nodiscard]] std::string failed_alike() const;
  [[nodiscard]] std::string what_ended() const;
  /// " (last heard 2026-11-20T21:01:42Z)", because what happened on the node later is unknown.
  [[nodiscard]] static std::string last_heard(const LostNode& lost);
  [[nodiscard]] std::string taken_port() const;
  [[nodiscard]] static std::string taken_port_text(const TakenPort& port, const std::string& where);
  [[nodiscard]] std::string stragglers() const;
  [[nodiscard]] std::string lost_names(const std::vector<LostNode>& lost) const;
  [[nodiscard]] std::string describe_attempt(const FailedAttempt& attempt) const;
  [[nodiscard]] std::string lost_node() const;

  const SummaryInput& in_;
  const RunReport& report_;
  const Outcome& outcome_;
};

}  // namespace dlaunch
