// The state of a run as seen from outside its ranks. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/pulse.h"

namespace dlaunch {

struct NodeStatus {
  std::string host;             // the user's name for the node
  std::uint32_t silent_ms = 0;  // since its latest pulse, or since its ranks were started
  NodePulse pulse;
  bool operator==(const NodeStatus&) const = default;
};

/// A node of the run that the attempt does not use.
struct SpareStatus {
  std::string host;
  /// "ready"; "checking": connected, but not yet known to be usable; "not connected": lost, or left
  /// out.
  std::string state;
  bool operator==(const SpareStatus&) const = default;
};

struct RankStatus {
  std::uint32_t node = 0;  // index of StatusReply::nodes
  bool started = false;
  std::string end;                // "exited with code 1"; empty: it has not ended
  std::uint32_t cpu_percent = 0;  // over the last seconds; 100: one core
  RankPulse pulse;                // the latest one, with ages as of now
  bool operator==(const RankStatus&) const = default;
};

/// What `dlaunch status` asks the engine of a run for.
struct StatusQuestion {
  std::string build_id;  // must equal the engine's
  bool operator==(const StatusQuestion&) const = default;
};

struct StatusReply {
  std::string run;
  std::string name;   // of the job
  std::string state;  // "preparing", "running", "stopping", "waiting to restart"
  std::uint32_t attempt = 0;
  std::uint64_t run_ms = 0;          // since the run began
  std::uint64_t attempt_ms = 0;      // since the ranks were started
  bool is_watched = true;            // false: no pulses, because of `watch.after: none`
  std::vector<std::string> metrics;  // names; MetricPulse::metric is an index into them
  std::vector<NodeStatus> nodes;
  std::vector<RankStatus> ranks;  // all of the attempt, ascending; empty before the first attempt
  std::vector<SpareStatus> spares;
  bool operator==(const StatusReply&) const = default;
};

}  // namespace dlaunch
