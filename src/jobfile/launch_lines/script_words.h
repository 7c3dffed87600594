// What a command of a script is for, judged by its words. Pure.
#pragma once

#include <string>
#include <string_view>

#include "jobfile/launch_lines/launch_line.h"

namespace dlaunch::jobfile {

/// Whether the command fails only if the script is wrong, so a command after "&&" always runs.
[[nodiscard]] bool is_sure(const ShellCommand& command);

/// Whether the value can be split at blanks, because each "${" ends in the same word. False for
/// "${NAMES%% *}".
[[nodiscard]] bool can_be_split(std::string_view text);

/// Whether the line only inspects the nodes, as scripts do before they start the job: "srun
/// hostname".
[[nodiscard]] bool only_looks(const LaunchLine& line);

/// Whether the command is like "python train.py", without a launcher.
[[nodiscard]] bool runs_program(const ShellCommand& words);

/// The command as the script spells it.
[[nodiscard]] std::string spelled_line(const ShellCommand& command);

}  // namespace dlaunch::jobfile
