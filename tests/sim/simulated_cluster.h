// A simulated cluster in virtual time: agents that start, stop, kill and lose ranks as in the wire
// protocol, channels that keep only the order of messages of one node, and the launcher's loop
// around a supervisor.
#pragma once

#include <functional>

#include "trace.h"

namespace dlaunch::sim {

/// A bug planted between the supervisor and its surroundings. The trace has what really happened,
/// and what was really done.
struct Bug {
  std::function<void(SupervisorConfig&)> configure;  // what the supervisor is told at the start
  std::function<void(Event&)> hear;                  // what it is told instead of an event
  std::function<void(StepRecord&)> act;              // what is done instead of what it asked for
  bool loses_deadlines = false;                      // nothing wakes it
};

/// Runs the scenario to its end. Deterministic.
[[nodiscard]] Trace simulate(const Scenario&, Bug = {});

/// Wall clock of the launcher at a virtual time.
[[nodiscard]] WallTime wall(MonotonicTime);

}  // namespace dlaunch::sim
