// One function a command.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace dlaunch {

/// What came after "--" on the command line, byte for byte.
using TrailingArguments = std::vector<std::string>;

[[nodiscard]] Subcommand run_command(const TrailingArguments& arguments);
[[nodiscard]] Subcommand plan_command(const TrailingArguments& arguments);

}  // namespace dlaunch
