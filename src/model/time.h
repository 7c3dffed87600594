// Points in time as values; the pure rooms never read a clock.
#pragma once

#include <chrono>

namespace dlaunch {

/// Time on the launcher's monotonic clock (CLOCK_MONOTONIC), from an arbitrary start.
using MonotonicTime = std::chrono::nanoseconds;

/// Wall-clock time (CLOCK_REALTIME), UTC. Times from nodes are corrected by the measured clock
/// offset.
using WallTime = std::chrono::sys_time<std::chrono::nanoseconds>;

}  // namespace dlaunch
