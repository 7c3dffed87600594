// One function a command; each adds itself to the command line.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace dlaunch {

/// What came after "--" on the command line, byte for byte.
using TrailingArguments = std::vector<std::string>;

void add_run_command(CommandLine& line, const TrailingArguments& arguments);
void add_plan_command(CommandLine& line, const TrailingArguments& arguments);

}  // namespace dlaunch
