// RunReport: how a run ended. The supervisor makes it, report/ turns it into the summary on the
// screen and into summary.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/exit_status.h"
#include "model/ids.h"
#include "model/job_spec.h"
#include "model/time.h"

namespace dlaunch {

/// What ended the run.
enum class Cause {
  success,
  exit_code,       // a rank exited with a code other than 0
  signal,          // a rank was killed by a signal that dlaunch did not send
  out_of_memory,   // ... by the kernel, for lack of memory; only on the kernel's own word
  cannot_execute,  // a rank could not be started
  node_lost,
  time_limit,
  cancelled,   // Ctrl-C, SIGTERM, SIGHUP, SIGQUIT, or the front was killed
  plan,        // no plan could be made; nothing was started
  port_taken,  // a rank failed because somebody else had its port
  mpirun,      // mpirun, which was to start the ranks, has failed, and no rank had before
  mpi,         // a rank of an MPI job ended without MPI_Init, or without MPI_Finalize
  stragglers,  // ranks still ran long after another had ended well
  internal,
};

/// How one rank ended.
struct RankEnd {
  enum class How {
    not_started,  // the run ended before it was its turn
    cannot_start,
    exited,   // by itself, with `status`
    stopped,  // told by dlaunch to stop, and ended then, with `status`
    killed,   // killed by dlaunch, after the grace time or on request
    lost,     // with its node: nobody saw its end
  };
  How how = How::not_started;
  ExitStatus status;
  std::optional<StartFailure> start_failure;
  std::optional<WallTime> started;
  std::optional<WallTime> ended;
  bool operator==(const RankEnd&) const = default;
};

/// A node whose channel could not be opened, or is gone for good.
struct LostNode {
  NodeIndex node;
  std::string what;                    // event::NodeLost
  std::optional<WallTime> heard_at{};  // the same: when the last sign of life came
  bool operator==(const LostNode&) const = default;
};

/// An attempt that failed and was followed by another one.
struct EarlierAttempt {
  Attempt attempt;
  Cause cause = Cause::exit_code;
  int exit_code = 0;
  bool from_rank = false;
  std::optional<Rank> first;         // the rank that failed first
  std::vector<Rank> perhaps_first;   // see RunReport
  std::optional<RankEnd> end;        // of `first`
  std::optional<TakenPort> port;     // when port_taken
  std::vector<LostNode> lost_nodes;  // when node_lost
  MonotonicTime ran{0};              // from the start of its ranks to the failure
  MonotonicTime wait{0};             // back-off before the next attempt
  std::uint32_t restart = 0;         // which restart of the budget follows; 0: none of them
  int restarts_max = 0;              // restart.max
  bool operator==(const EarlierAttempt&) const = default;
};

struct RunReport {
  int exit_code = 0;
  bool from_rank = false;  // summary.json "origin": "rank" or "dlaunch": whose code exit_code is
  Cause cause = Cause::success;
  std::optional<Rank> first;            // the rank that failed first
  std::vector<Rank> perhaps_first;      // others that failed so close to it that nobody can tell
  std::vector<Rank> alike;              // others that failed in the same way, and said the same
  std::vector<Rank> left_early;         // ended with 0; `first` then failed without them
  std::vector<Rank> lost_peer;          // whose error says that another rank is gone
  std::optional<NodeIndex> lost_node;   // when node_lost: the first of them
  std::vector<LostNode> lost_nodes;     // when node_lost: all that this ending was decided by
  int signal = 0;                       // when cancelled: which, 0 if the front was killed
  std::string detail;                   // when plan, node_lost, mpirun, internal: what a person
                                        // should read
  std::string said;                     // when mpirun: its last lines
  std::optional<TakenPort> port;        // when port_taken
  std::vector<Rank> stragglers;         // when stragglers
  std::optional<Duration> limit;        // when time_limit, stragglers: the limit that was reached
  Attempt attempt;                      // the last one
  std::vector<EarlierAttempt> earlier;  // index = Attempt; all but the last, or all when none
                                        // followed the last back-off
  MonotonicTime elapsed{0};
  std::vector<RankEnd> ranks;  // index = Rank; empty when there was no plan
  std::uint32_t leftovers =
      0;  // processes of the job that had to be killed after its ranks had ended
  bool operator==(const RunReport&) const = default;
};

[[nodiscard]] const char* name_of(Cause);
[[nodiscard]] const char* name_of(RankEnd::How);

}  // namespace dlaunch
