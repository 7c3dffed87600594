// The clocks as MonotonicTime and WallTime.
#pragma once

#include "model/time.h"

namespace dlaunch {

[[nodiscard]] MonotonicTime monotonic_now();
[[nodiscard]] WallTime wall_now();
/// The time that a file would get if it changed now: the kernel's latest tick, up to 10 ms ago.
[[nodiscard]] WallTime file_time_now();
/// The parts in the time zone of this process (localtime_r(3)).
[[nodiscard]] DateParts local_parts(WallTime time);

}  // namespace dlaunch
