// Everything the supervisor can ask for. Performing an action never blocks; its results arrive as
// events.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/ids.h"
#include "model/report.h"
#include "model/time.h"

namespace dlaunch {

namespace action {

/// Open a channel to a node (after a loss: a new channel, to a new agent) and ask for its facts for
/// the attempt. -> NodeReady or NodeLost
struct ConnectNode {
  NodeId node;
  Attempt attempt{};
  std::optional<Duration> within{};  // none: timeouts.connect
  bool operator==(const ConnectNode&) const = default;
};
/// Ask a connected node for its facts again, with new ports. -> NodeReady or NodeLost
struct GatherFacts {
  Attempt attempt;
  NodeId node;
  bool operator==(const GatherFacts&) const = default;
};
/// Make the plan of an attempt from the facts. -> PlanMade or PlanFailed
struct MakePlan {
  Attempt attempt;
  bool operator==(const MakePlan&) const = default;
};
/// Start the planned ranks of a node. -> RankStarted or RankNotStarted for each rank
struct StartRanks {
  Attempt attempt;
  NodeId node;
  bool operator==(const StartRanks&) const = default;
};
/// Send a signal to the leaders of a node's ranks (docs/internals/containment.md).
struct StopRanks {
  Attempt attempt;
  NodeId node;
  int signal = 0;
  std::vector<Rank> ranks{};  // empty: all
  bool operator==(const StopRanks&) const = default;
};
/// Kill everything of the attempt on a node. -> NodeEmpty
struct KillRanks {
  Attempt attempt;
  NodeId node;
  std::vector<Rank> ranks{};  // empty: all
  bool operator==(const KillRanks&) const = default;
};
/// Say Bye to the agent: the node is no longer needed.
struct ReleaseNode {
  NodeId node;
  bool operator==(const ReleaseNode&) const = default;
};
/// The node has left the run's set of nodes: its agent, if it has one, is released, and later plans
/// do not use the node.
struct RemoveNode {
  NodeId node;
  bool operator==(const RemoveNode&) const = default;
};
/// An attempt has failed and another one follows. The event log records this before the wait
/// begins.
struct Restart {
  FailedAttempt failed;
  Attempt next;
  bool operator==(const Restart&) const = default;
};
/// One line for the user, without the prefix "dlaunch: ".
struct Tell {
  std::string line;
  bool operator==(const Tell&) const = default;
};
/// The run is over: nothing happens after this.
struct Finish {
  RunReport report;
  bool operator==(const Finish&) const = default;
};

}  // namespace action

using Action =
    std::variant<action::ConnectNode, action::GatherFacts, action::MakePlan, action::StartRanks,
                 action::StopRanks, action::KillRanks, action::ReleaseNode, action::RemoveNode,
                 action::Restart, action::Tell, action::Finish>;

}  // namespace dlaunch
