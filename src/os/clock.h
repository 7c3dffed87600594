// The only functions that read a clock.
#pragma once

#include "model/time.h"

namespace dlaunch {

[[nodiscard]] MonotonicTime monotonic_now();
[[nodiscard]] WallTime wall_now();
/// In the time zone of this process (localtime_r(3)).
[[nodiscard]] DateParts local_parts(WallTime time);

}  // namespace dlaunch
