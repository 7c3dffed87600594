// Durations for messages. Pure.
#pragma once

#include <chrono>
#include <string>

namespace dlaunch {

/// "17 ms", "12.4 s", "3 min 12 s", "2 h 05 min"; less than a millisecond is "1 ms", zero and
/// negative durations are "0 s".
[[nodiscard]] std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace dlaunch
