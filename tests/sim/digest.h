// What the supervisor could know and when, computed from a trace without any of its code: the
// reference with which the invariants compare its actions.
#pragma once

#include <optional>
#include <vector>

#include "trace.h"

namespace dlaunch::sim {

/// Numbers are indexes into Trace::steps.
using StepIndex = std::size_t;

struct NodeDigest {
  std::vector<StepIndex> connected, started, stopped, killed, released;  // the actions
  std::vector<StepIndex> gathered;
  bool up = false;  // at the end: connected or being connected, neither lost nor released
  bool released_down = false;        // it was released when it was not up
  bool left = false;                 // it was out of the set, if only for a part of the attempt
  bool asked_again = false;          // without having been lost since, or having left
  std::optional<StepIndex> lost;     // NodeLost arrived
  std::optional<StepIndex> emptied;  // a valid NodeEmpty arrived
  std::optional<StepIndex> given_up;
  std::uint32_t ranks = 0;
  /// When the node's ranks no longer mattered.
  [[nodiscard]] std::optional<StepIndex> closed() const;
};

struct RankDigest {
  std::optional<StepIndex> ended;  // the first report of its end, before its node was closed
  WallTime at{};                   // in that report
  bool failed = false;
};

struct Decision {
  enum class Kind {
    rank,
    node_lost,
    cancelled,
    time_limit,
    plan_failed,
    success,
    stragglers,
    hang,
    preempted,
    mpirun
  };
  Kind kind{};
  StepIndex step{};
  int signal = 0;
  std::vector<NodeId> with_running;  // nodes on which ranks were still running, ascending
};

struct Digest {
  std::vector<NodeDigest> nodes;
  std::vector<RankDigest> ranks;
  std::vector<std::uint32_t> answered;  // nodes, in the order of their NodeReady
  std::optional<StepIndex> all_ready;
  std::optional<StepIndex> planned;
  std::optional<Decision> decision;
  std::vector<StepIndex> cancels;  // that had an effect: in or after the decision
  std::vector<StepIndex> notices;  // of a node that is taken away, after the decision
  std::vector<StepIndex> finishes;
  StepIndex ended = 0;  // the step that finishes the run, or says that another attempt follows
  std::uint32_t leftovers = 0;
  const RunReport* report = nullptr;
};

/// The digest of one attempt (attempts.h).
[[nodiscard]] Digest digest(const Trace&);

}  // namespace dlaunch::sim
