// `dlaunch check --local`: this machine alone, without ssh, in a few seconds.
#pragma once

#include <cstdint>
#include <optional>

#include "measure/check/local_check.h"

namespace dlaunch {

/// Reads what this machine has and measures how fast it is. All questions and measurements share a
/// limit of 9 s; what is not done by then is reported as such and is not a fault. (Reading /sys and
/// /proc has no limit, and a program that hangs in a driver gets up to a second more.)
[[nodiscard]] LocalCheck check_this_machine(std::optional<std::uint32_t> expected_gpus);

}  // namespace dlaunch
