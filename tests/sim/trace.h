// What happened in one simulated run: the supervisor's events and actions, and the truth.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/action.h"
#include "model/event.h"
#include "scenario.h"

namespace dlaunch::sim {

/// One call of the supervisor. `event` is empty for start().
struct StepRecord {
  MonotonicTime now{};
  std::optional<Event> event;
  std::vector<Action> actions;
  std::optional<MonotonicTime> deadline;  // afterwards
  bool done = false;                      // afterwards
};

/// The true fate of a rank.
struct RankTruth {
  bool started = false;
  bool ended = false;
  bool own = false;          // not caused by our signal, which had reached the agent before
  MonotonicTime ended_at{};  // true time
  ExitStatus status;         // unless start_failed
  bool start_failed = false;
  int start_code = 0;  // the exit code of that
  bool lost = false;  // with its node
  bool left = false;  // mpirun is gone: its end is not its own failure
  bool failed() const { return own && (start_failed || !status.ok()); }
};

/// The attempt of stray messages; no run has so many.
inline constexpr Attempt kStray{1000};

/// A node as a member of the set: it may leave, and return when it is connected again.
struct Membership {
  bool gone = false;   // out of the set
  bool joins = false;  // in the set again, and not asked for its facts since
  bool tried = false;  // either of them, and connected or being connected
};

struct NodeTruth {
  bool dead = false;            // its agent and all its processes are gone
  bool never_empties = false;   // its agent cannot end everything
  std::uint32_t leftovers = 0;  // that it reported
};

/// A whole run, or the part of it that is one attempt (see attempts.h).
struct Trace {
  Scenario scenario;
  std::vector<StepRecord> steps;
  Attempt attempt;                            // the last one, or that of the part
  std::vector<std::vector<RankTruth>> truth;  // index = Attempt; at the time of Finish
  std::vector<RankTruth> ranks;               // of `attempt`
  std::vector<std::vector<NodeId>>
      placed;              // index = Attempt, then Rank: its node, if it was planned
  std::vector<Membership> members;            // of a part: before it
  bool is_last = true;                        // of a part: no attempt follows
  std::optional<MonotonicTime> ranks_began;   // the first StartRanks of the whole run
  bool overlap =
      false;  // an attempt began while a rank of an earlier one was alive on a living node
  std::vector<NodeTruth> nodes;
  std::vector<NodeId> removed_running;  // left the set while ranks ran there
  bool joined_running = false;          // a node was connected again while ranks ran on it
  bool ran_out_of_events = false;  // nothing to happen, no deadline, and not finished
};

}  // namespace dlaunch::sim
