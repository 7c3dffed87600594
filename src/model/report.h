// How attempts and runs end: the supervisor decides the outcome; report/ corrects it from the
// ranks' output, shows it and writes it to summary.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/exit_status.h"
#include "model/ids.h"
#include "model/job_spec.h"
#include "model/spent_time.h"
#include "model/time.h"

namespace dlaunch {

/// What ended an attempt or the run.
enum class Cause {
  success,
  exit_code,       // a rank exited with a code other than 0
  signal,          // a rank was killed by a signal that dlaunch did not send
  out_of_memory,   // ... by the kernel, for lack of memory; only if the kernel's records say so
  cannot_execute,  // a rank could not be started
  node_lost,
  time_limit,
  cancelled,      // Ctrl-C, SIGTERM, SIGHUP, SIGQUIT, or the front was killed
  plan,           // no plan could be made; no rank was started
  port_taken,     // a rank failed because another process held its port
  starter,        // mpirun, which starts the ranks, failed before any rank did
  mpi,            // a rank of an MPI job ended without MPI_Init, or without MPI_Finalize
  stragglers,     // ranks still ran long after another had succeeded
  hang,           // no rank made progress for timeouts.hang
  preempted,      // a node is being taken away, and no attempt follows
  not_collected,  // the ranks have succeeded, but part of what `collect` names is missing here
  internal,
};

/// How one rank ended.
struct RankEnd {
  enum class How {
    not_started,  // the run ended before its start
    cannot_start,
    exited,   // by itself, with `status`
    stopped,  // ended with `status` after dlaunch had told it to stop
    killed,   // killed by dlaunch, after the grace time or on request
    lost,     // together with its node; how it ended is unknown
  };
  How how = How::not_started;
  ExitStatus status;
  std::optional<StartFailure> start_failure;
  std::optional<WallTime> started;
  std::optional<WallTime> ended;
  bool operator==(const RankEnd&) const = default;
};

/// A node that could not be connected, or whose connection is lost for good.
struct LostNode {
  NodeId node;
  std::string what;                    // as in event::NodeLost
  std::optional<WallTime> heard_at{};  // likewise
  bool operator==(const LostNode&) const = default;
};

/// Why an attempt, or the run, ended.
struct Outcome {
  Cause cause = Cause::success;
  int exit_code = 0;
  bool from_rank = false;  // exit_code is that of `first`; else it is dlaunch's own

  // When a rank's failure decided the outcome:
  std::optional<Rank> first;        // the rank that failed first
  std::vector<Rank> perhaps_first;  // others that may have failed before it
  std::vector<Rank> alike;          // others that failed in the same way with the same message
  std::vector<Rank> left_early;     // exited with 0, and `first` failed because they were gone
  std::vector<Rank> lost_peer;      // ranks whose error says that another rank is gone
  std::optional<TakenPort> port;    // port_taken

  std::vector<LostNode> lost_nodes;  // node_lost: at least one; the first one lost comes first
  std::vector<NodeId> preempted;     // preempted: at least one; the first one preempted comes first
  int signal = 0;                    // cancelled: the signal; 0: the front was killed
  std::vector<Rank> stragglers;      // stragglers
  std::optional<Duration> limit;     // time_limit, stragglers, hang: the limit that was reached
  std::string detail;  // plan, node_lost, starter, hang, preempted, internal: an explanation
  std::string said;    // starter: its last lines
  bool operator==(const Outcome&) const = default;
};

/// A failed attempt after which another one was due.
struct FailedAttempt {
  Attempt attempt;
  Outcome outcome;
  std::optional<RankEnd> end;  // of outcome.first
  MonotonicTime ran{0};        // from the start of its ranks to the failure
  /// How long the failure (a hang, a lost node) was not noticed. nullopt: a rank ended, which its
  /// agent reports at once.
  std::optional<Duration> unnoticed{};
  MonotonicTime stopped{0};                   // from the failure until no rank was left
  std::optional<MonotonicTime> again{};       // ... until all ranks of the next attempt ran
  std::optional<std::uint64_t> steps_lost{};  // steps that the next one repeats; nullopt: unknown
  MonotonicTime wait{0};                      // back-off before the next attempt
  std::uint32_t restart = 0;  // the number of the restart that follows; 0: it does not count as one
  int restarts_max = 0;       // restart.max
  bool operator==(const FailedAttempt&) const = default;
};

struct RunReport {
  Outcome outcome;
  std::vector<FailedAttempt> earlier;  // index = Attempt
  Attempt attempt;             // the last one; also the last of `earlier` when the run ended in its
                               // back-off
  std::vector<RankEnd> ranks;  // of `attempt`, index = Rank; empty: it had no plan
  MonotonicTime elapsed{0};
  SpentTimes spent{};           // adds up to `elapsed`
  std::uint32_t leftovers = 0;  // processes that had to be killed after the ranks had ended
  /// The end of outcome.first; null: there is none.
  [[nodiscard]] const RankEnd* end_of_first() const {
    const auto& first = outcome.first;
    return first && first->value < ranks.size() ? &ranks[first->value] : nullptr;
  }
  bool operator==(const RunReport&) const = default;
};

[[nodiscard]] const char* name_of(Cause);
[[nodiscard]] const char* name_of(RankEnd::How);

}  // namespace dlaunch
