// Everything that can happen to a run, as the supervisor is told it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/cluster.h"
#include "model/exit_status.h"
#include "model/ids.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "model/time.h"

namespace dlaunch {

namespace event {

/// The agent of a node has reported its facts for an attempt (for the first one: and said hello).
struct NodeReady {
  NodeIndex node;
  Attempt attempt{};
  bool operator==(const NodeReady&) const = default;
};
/// The channel to a node's agent is gone and will not come back; or it could not be opened.
struct NodeLost {
  NodeIndex node;
  std::string what;                    // "its agent was killed by SIGKILL"
  std::optional<WallTime> heard_at{};  // when the last sign of life came, on our clock
  /// Its ranks may run on for so long, until its agent fences them (agent/session/lease.h).
  Duration may_run_for{0};
  bool end_was_heard = false;  // that of its agent, so nothing ran after heard_at
  bool operator==(const NodeLost&) const = default;
};
/// A plan exists for the attempt.
struct PlanMade {
  Attempt attempt;
  std::vector<NodeIndex> node_of_rank;  // index = Rank
  /// Index = Rank: when all of these have ended well, so has the job. Empty: all of them.
  std::vector<bool> decides{};
  /// Where mpirun is to start the ranks, its node; it counts as a part of the attempt there.
  std::optional<NodeIndex> mpirun_on{};
  bool operator==(const PlanMade&) const = default;
};
struct PlanFailed {
  Error error;
  bool operator==(const PlanFailed&) const = default;
};
struct RankStarted {
  Attempt attempt;
  Rank rank;
  std::int32_t pid = 0;  // on its node
  WallTime at;
  bool operator==(const RankStarted&) const = default;
};
struct RankNotStarted {
  Attempt attempt;
  Rank rank;
  StartFailure failure;
  WallTime at;                             // on our clock
  std::chrono::nanoseconds clock_error{};  // the most by which `at` may be wrong
  bool operator==(const RankNotStarted&) const = default;
};
/// The rank's leader has ended. `at` is when the agent saw it: ranks that ended before the agent
/// looked carry the same time, and then nobody can tell which was first. It is corrected by the
/// measured offset of the node's clock; times of one node keep their order.
struct RankExited {
  Attempt attempt;
  Rank rank;
  ExitStatus status;
  WallTime at;
  bool after_signal = false;               // the agent had sent it our stop or kill before it ended
  std::chrono::nanoseconds clock_error{};  // the most by which `at` may be wrong
  bool operator==(const RankExited&) const = default;
};
/// mpirun, which starts the ranks, has ended; before NodeEmpty of its node.
struct MpirunEnded {
  Attempt attempt;
  NodeIndex node;
  ExitStatus status;
  WallTime at;                // as of RankExited
  bool after_signal = false;  // it was told to end, or killed by us
  std::string said{};         // the last lines that it has printed
  std::chrono::nanoseconds clock_error{};
  bool operator==(const MpirunEnded&) const = default;
};
/// All ranks of the attempt on this node have ended and nothing that they started is left there.
struct NodeEmpty {
  Attempt attempt;
  NodeIndex node;
  std::uint32_t leftovers = 0;  // processes that had to be killed after the last rank had ended
  bool operator==(const NodeEmpty&) const = default;
};
/// A port that had been given free for one of the attempt's ranks is held by somebody else. Comes
/// before the exit of the rank that found out.
struct PortTaken {
  Attempt attempt;
  Rank rank;  // the one that was to listen
  TakenPort taken;
  bool operator==(const PortTaken&) const = default;
};
/// SIGINT, SIGTERM, SIGHUP or SIGQUIT reached the launcher.
struct CancelSignal {
  int number = 0;
  bool operator==(const CancelSignal&) const = default;
};
/// The ranks are to be gone by then, because somebody else ends the launcher soon after: a
/// scheduler, at the end of the job's time. It only makes grace times shorter.
struct Deadline {
  MonotonicTime at{};
  bool operator==(const Deadline&) const = default;
};
/// The front has ended without being told to: the run ends.
struct FrontGone {
  bool operator==(const FrontGone&) const = default;
};
/// Somebody who connects has a question for the user, or has been answered: the limit for
/// connecting counts from here anew, because people take longer than machines.
struct UserAsked {
  bool operator==(const UserAsked&) const = default;
};
/// The workdir is being copied to nodes while a plan is made, for as long as it takes: that has
/// limits of its own. Afterwards the one for making a plan counts from here anew.
struct Copying {
  bool under_way = false;
  bool operator==(const Copying&) const = default;
};
/// Nothing happened until the supervisor's deadline.
struct Tick {
  bool operator==(const Tick&) const = default;
};

}  // namespace event

using Event =
    std::variant<event::NodeReady, event::NodeLost, event::PlanMade, event::PlanFailed,
                 event::RankStarted, event::RankNotStarted, event::RankExited, event::NodeEmpty,
                 event::PortTaken, event::MpirunEnded, event::CancelSignal, event::FrontGone,
                 event::UserAsked, event::Copying, event::Tick, event::Deadline>;

}  // namespace dlaunch
