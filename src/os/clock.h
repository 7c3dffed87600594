// The only functions that read a clock.
#pragma once

#include "model/time.h"

namespace dlaunch {

[[nodiscard]] MonotonicTime monotonic_now();
[[nodiscard]] WallTime wall_now();

}  // namespace dlaunch
