// A simulated cluster in virtual time: agents that start, stop, kill and lose ranks as the wire
// protocol says, channels that keep the order of one node and of nothing else, and the launcher's
// loop around a supervisor.
#pragma once

#include "trace.h"

namespace dlaunch::sim {

/// Runs the scenario to its end. Deterministic.
[[nodiscard]] Trace simulate(const Scenario&);

/// Wall clock of the launcher at a virtual time.
[[nodiscard]] WallTime wall(MonotonicTime);

}  // namespace dlaunch::sim
