// A command that starts ranks by another launcher, in dlaunch's own words.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobfile/launch_lines/own_options.h"

namespace dlaunch::jobfile {

/// The value of a shell variable; nullopt: not known before the script runs.
using VariableValue = std::function<std::optional<std::string>(std::string_view name)>;

struct LaunchLine {
  std::string launcher;              // "torchrun"; "srun, torchrun" where one starts the other
  OwnOptions options;                // settled
  std::vector<std::string> program;  // its words; variables that are not known stay in them
};

/// Nullopt: the command (its words, as started_commands() gives them) starts no ranks.
[[nodiscard]] std::optional<LaunchLine> read_launch_line(const std::vector<std::string>& words,
                                                         const VariableValue& value_of);

/// The text with the values of $NAME, ${NAME} and ${NAME:-DEFAULT}; those that are not known stay.
[[nodiscard]] std::string with_values(std::string_view text, const VariableValue& value_of);

/// Whether a variable or a substitution is left in it.
[[nodiscard]] bool has_variable(std::string_view text);

}  // namespace dlaunch::jobfile
