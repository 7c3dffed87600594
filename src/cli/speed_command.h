// `dlaunch speed`: the process that measures for `dlaunch check --local`; internal, as `agent` is.
#pragma once

#include <string>
#include <vector>

namespace dlaunch {

[[nodiscard]] bool is_speed_command(const std::vector<std::string>& words);

/// Prints one line of JSON (speed/local_speed.h).
[[nodiscard]] int speed_command();

}  // namespace dlaunch
