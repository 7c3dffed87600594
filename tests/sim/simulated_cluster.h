// A simulated cluster in virtual time: agents that start, stop, kill and lose ranks as in the wire
// protocol, channels that keep only the order of messages of one node, and the launcher's loop
// around a supervisor.
#pragma once

#include "trace.h"

namespace dlaunch::sim {

/// Runs the scenario to its end. Deterministic.
[[nodiscard]] Trace simulate(const Scenario&);

/// Wall clock of the launcher at a virtual time.
[[nodiscard]] WallTime wall(MonotonicTime);

}  // namespace dlaunch::sim
