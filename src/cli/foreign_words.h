// Words that people type by habit of other launchers, and what to write instead. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlaunch {

/// Advice for an option of torchrun, mpirun, srun or deepspeed that dlaunch has not, "--bind-to" or
/// "--bind-to=core"; nullopt: not known.
[[nodiscard]] std::optional<std::string> advice_for_option(std::string_view option);

/// What to type instead of a word that is a command elsewhere ("ps", "kill"): "to list runs and
/// their states: dlaunch runs"; nullopt: not known.
[[nodiscard]] std::optional<std::string> command_meant(std::string_view word);

/// A word by which somebody means a command of a launcher, though a program may have that name too:
/// "rm", "resume".
[[nodiscard]] bool sounds_like_command(std::string_view word);

/// mpirun spells long options with one dash ("-hostfile"), where others would read "-h": the option
/// with two dashes, or the word as it is.
[[nodiscard]] std::string with_two_dashes(std::string_view word);

/// A command that a later dlaunch will have.
[[nodiscard]] bool is_planned_command(std::string_view word);

}  // namespace dlaunch
