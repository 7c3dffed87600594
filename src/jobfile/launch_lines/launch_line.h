// A command that starts ranks with another launcher, translated into dlaunch's own options.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobfile/launch_lines/own_options.h"
#include "jobfile/launch_lines/shell_text.h"

namespace dlaunch::jobfile {

struct LaunchLine {
  std::string launcher;              // "torchrun"; "srun, torchrun" where one starts the other
  OwnOptions options;                // after settle()
  std::vector<ExpandedWord> program;
};

/// Reads a command from started_shell_commands(). Nullopt: the command starts no ranks.
[[nodiscard]] std::optional<LaunchLine> read_launch_line(const ShellCommand& command,
                                                         const VariableValue& value_of);

/// The words of the program.
[[nodiscard]] std::vector<std::string> program_words(const LaunchLine& line);

}  // namespace dlaunch::jobfile
