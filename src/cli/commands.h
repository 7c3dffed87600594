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
[[nodiscard]] Subcommand exec_command(const TrailingArguments& arguments);
[[nodiscard]] Subcommand submit_command(const TrailingArguments& arguments);
[[nodiscard]] Subcommand convert_command(const TrailingArguments& arguments);
[[nodiscard]] Subcommand export_command(const TrailingArguments& arguments);
[[nodiscard]] Subcommand scale_command(const TrailingArguments& arguments);
[[nodiscard]] Subcommand check_command();
[[nodiscard]] Subcommand info_command();
[[nodiscard]] Subcommand bench_command();
[[nodiscard]] Subcommand check_command();
[[nodiscard]] Subcommand schema_command();
[[nodiscard]] Subcommand runs_command();
[[nodiscard]] Subcommand logs_command();
[[nodiscard]] Subcommand stop_command();

}  // namespace dlaunch
