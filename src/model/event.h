// Everything that can happen to a run, as the supervisor sees it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/cluster.h"
#include "model/exit_status.h"
#include "model/ids.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "model/time.h"

namespace dlaunch {

/// A process on `node` that starts the ranks in place of the agents; the attempt runs on `node`
/// until that process ends.
struct PlannedStarter {
  NodeId node;
  std::string name;  // "mpirun"
  bool operator==(const PlannedStarter&) const = default;
};

namespace event {

/// The agent of a node has reported its facts for an attempt; it said hello before its first
/// report.
struct NodeReady {
  NodeId node;
  Attempt attempt{};
  bool operator==(const NodeReady&) const = default;
};
/// The channel to a node's agent could not be opened, or is lost for good.
struct NodeLost {
  NodeId node;
  std::string what;                    // "its agent was killed by SIGKILL"
  std::optional<WallTime> heard_at{};  // time of the last sign of life, on our clock
  /// How long its ranks may still run, until its agent fences them (node/session/lease.h).
  Duration may_run_for{0};
  bool end_was_heard = false;  // its agent has sent Bye: nothing ran after heard_at
  Duration silence{0};         // since the last sign of life
  bool operator==(const NodeLost&) const = default;
};
/// A node joins the run's set of nodes. It is connected for the next attempt that is not planned
/// yet.
struct NodeAdded {
  NodeId node;       // one that the run has not had before
  std::string name;  // for messages; empty: its number
  bool operator==(const NodeAdded&) const = default;
};
/// A node is to leave the run's set of nodes before the next plan is made, but not while ranks of
/// an attempt run on it. -> action::RemoveNode
struct NodeWithdrawn {
  NodeId node;
  bool operator==(const NodeWithdrawn&) const = default;
};
/// A plan exists for the attempt. Every node that it uses is connected.
struct PlanMade {
  Attempt attempt;
  std::vector<NodeId> node_of_rank;  // index = Rank
  /// Index = Rank. The job has succeeded once every rank with `true` has. Empty: all ranks decide.
  std::vector<bool> decides{};
  std::optional<PlannedStarter> starter{};
  std::vector<std::pair<NodeId, std::string>> names{};  // of the plan's nodes
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
  std::chrono::nanoseconds clock_error{};  // maximum error of `at`
  bool operator==(const RankNotStarted&) const = default;
};
/// The rank's leader has ended. `at` is when the agent saw this: ranks that ended between two
/// checks by the agent carry the same time, and their order is unknown. `at` is corrected by the
/// measured offset of the node's clock; times of one node keep their order.
struct RankExited {
  Attempt attempt;
  Rank rank;
  ExitStatus status;
  WallTime at;
  bool after_signal = false;               // the agent had signalled it before it ended
  std::chrono::nanoseconds clock_error{};  // maximum error of `at`
  bool operator==(const RankExited&) const = default;
};
/// The process that starts the ranks has ended. Comes before the NodeEmpty of its node.
struct StarterEnded {
  Attempt attempt;
  NodeId node;
  ExitStatus status;
  WallTime at;                // as in RankExited
  bool after_signal = false;  // dlaunch told it to end, or killed it
  std::string said{};         // the last lines that it printed
  std::chrono::nanoseconds clock_error{};
  bool operator==(const StarterEnded&) const = default;
};
/// All ranks of the attempt on this node have ended and nothing that they started is left there.
struct NodeEmpty {
  Attempt attempt;
  NodeId node;
  std::uint32_t leftovers = 0;  // processes that had to be killed after the last rank had ended
  bool operator==(const NodeEmpty&) const = default;
};
/// Another process holds a port that was released for one of the attempt's ranks. Comes before the
/// exit of the rank that failed because of it.
struct PortTaken {
  Attempt attempt;
  Rank rank;  // the rank that should listen on it
  TakenPort taken;
  bool operator==(const PortTaken&) const = default;
};
/// No rank of the attempt has made progress for timeouts.hang.
struct Hang {
  Attempt attempt;
  Duration limit{};
  std::string what;  // a sentence for the user, with what is known about the cause
  bool operator==(const Hang&) const = default;
};
/// A rank of the attempt has printed for the first time, or the ranks are known to have made
/// progress. Used only to account for the run's time.
struct Progress {
  Attempt attempt;
  std::optional<std::uint64_t> step{};  // the largest value of the metric `step`
  bool operator==(const Progress&) const = default;
};
/// Ranks have made no progress for `silence` and are not working; holds until the next Progress.
struct Stall {
  Attempt attempt;
  Duration silence{};
  bool operator==(const Stall&) const = default;
};
/// A node of the attempt is about to be taken away.
struct Preempted {
  Attempt attempt;
  NodeId node;
  std::string reason;              // one line; may be empty
  std::optional<Duration> left{};  // time left until then; nullopt: unknown
  bool operator==(const Preempted&) const = default;
};
/// SIGINT, SIGTERM, SIGHUP or SIGQUIT reached the launcher.
struct CancelSignal {
  int number = 0;
  bool operator==(const CancelSignal&) const = default;
};
/// The ranks must be gone by `at`, because a scheduler ends the launcher soon after, at the end of
/// the job's time. The deadline only shortens grace times.
struct Deadline {
  MonotonicTime at{};
  bool operator==(const Deadline&) const = default;
};
/// The front has ended without being told to: the run ends.
struct FrontGone {
  bool operator==(const FrontGone&) const = default;
};
/// A connection has a question for the user, or the user has answered: the limit for connecting
/// starts again, because people take longer than machines. Likewise when a node had to wait for
/// another node to send dlaunch to it.
struct UserAsked {
  bool operator==(const UserAsked&) const = default;
};
/// The workdir is being copied to nodes while a plan is made. Copying has its own limits; when it
/// ends, the limit for making a plan starts again.
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
    std::variant<event::NodeReady, event::NodeLost, event::NodeAdded, event::NodeWithdrawn,
                 event::PlanMade, event::PlanFailed, event::RankStarted, event::RankNotStarted,
                 event::RankExited, event::NodeEmpty, event::PortTaken, event::StarterEnded,
                 event::Hang, event::Progress, event::Stall, event::CancelSignal, event::FrontGone,
                 event::UserAsked, event::Copying, event::Tick, event::Deadline, event::Preempted>;

}  // namespace dlaunch
