// What dlaunch says of a failure: who was first, of what, and what to do about it. Parts of
// report/summary.h, which puts them on a screen. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/summary.h"

namespace dlaunch {

/// How a script that was given as a program can be run; empty where that is no likely reason.
/// `commands`: of the plan.
[[nodiscard]] std::string script_advice(const StartFailure& failure,
                                        const std::vector<CommandPlan>& commands);

/// The rank's end; null where the report has none of it.
[[nodiscard]] const RankEnd* end_of(const RunReport& report, Rank rank);

/// The first line of an error, as it may be shown.
[[nodiscard]] std::string one_line(std::string_view text);

/// `input` must outlive it.
class FailureWords {
 public:
  explicit FailureWords(const SummaryInput& input) : in_(input), report_(input.report) {}

  /// "FAILED after 12 s: rank 1 on node2 exited with code 1, first of 4, after 2 restarts"
  [[nodiscard]] std::string headline() const;
  /// Evidence for why, where there is some: the kernel's, MPI's, the error's own; else empty.
  [[nodiscard]] std::string why() const;
  /// What to try; empty if no advice is known.
  [[nodiscard]] std::string advice() const;
  /// "node2: No route to host (last heard 2026-11-20T21:01:42Z)"
  [[nodiscard]] std::string lost_line(const LostNode& lost) const;
  /// "attempt 0: rank 1 exited with code 1 after 12 s"; the last ones, when there are many.
  [[nodiscard]] std::vector<std::string> earlier_attempts() const;
  /// Of which ranks ran.
  [[nodiscard]] std::size_t restarts() const;
  /// Whether no attempt has followed the last that failed: the ranks are those of that one.
  [[nodiscard]] bool in_back_off() const;
  /// Whether the next attempt has begun to connect its nodes, and no rank of it.
  [[nodiscard]] bool before_ranks() const;
  /// "restart 2 of 5"; "attempt 3" where that does not count as a restart.
  [[nodiscard]] static std::string next_attempt(const EarlierAttempt& failed);
  /// "1", "0,2-5": whose output tells most, as `dlaunch logs --rank` takes it. Needs report.first.
  [[nodiscard]] std::string ranks_to_read() const;
  /// "rank 1 on node2"
  [[nodiscard]] std::string who(Rank rank) const;
  /// " on node1", or nothing where no plan tells.
  [[nodiscard]] std::string on_node(Rank rank) const;

 private:
  [[nodiscard]] std::string first_failure() const;
  [[nodiscard]] std::string left_early() const;
  [[nodiscard]] std::string failed_alike() const;
  [[nodiscard]] std::string why_killed() const;
  [[nodiscard]] std::string why_peer_lost() const;
  /// Where the first rank's error only says that another one is gone, and no rank is known to have
  /// caused that: those that ended without such an error, one of which may tell why. Else empty.
  [[nodiscard]] std::vector<Rank> suspects() const;
  [[nodiscard]] std::string what_ended() const;
  [[nodiscard]] std::string advice_for_stdin() const;
  [[nodiscard]] std::string advice_for_mpi() const;
  /// " (last heard 2026-11-20T21:01:42Z)": what is after that is not known of it.
  [[nodiscard]] static std::string last_heard(const LostNode& lost);
  [[nodiscard]] std::string taken_port() const;
  [[nodiscard]] static std::string taken_port_text(const TakenPort& port, const std::string& where);
  [[nodiscard]] std::string stragglers() const;
  [[nodiscard]] std::string lost_names(const std::vector<LostNode>& lost) const;
  [[nodiscard]] std::string describe_attempt(const EarlierAttempt& attempt) const;
  [[nodiscard]] std::string lost_node() const;
  [[nodiscard]] bool is_by_mpirun() const;
  [[nodiscard]] std::string what_else_for_mpi() const;
  [[nodiscard]] std::string why_not_mpi(MpiEnd end) const;
  /// Names the Python that did not find a module.
  [[nodiscard]] std::string why_no_module() const;

  const SummaryInput& in_;
  const RunReport& report_;
};

}  // namespace dlaunch
