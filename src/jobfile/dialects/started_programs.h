// The programs that a shell command starts, as far as its text shows: launchers among them start
// ranks of their own.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobfile/dialects/shell_words.h"

namespace dlaunch::jobfile {

/// The simple commands of a shell text, in order, as argument lists (XCU 2.9). Omits prefixes:
/// assignments and redirections, reserved words (if, then, do, {), and programs that start another
/// one (sudo, env, nohup, timeout). Includes the text of `sh -c` and `eval`. Variables are not
/// expanded.
[[nodiscard]] std::vector<std::vector<std::string>> started_commands(std::string_view command);

/// The same, with the spelling of each word.
[[nodiscard]] std::vector<ShellCommand> started_shell_commands(std::string_view command);

/// The first of `programs` (compared without folders) that one of the commands starts; empty: none.
[[nodiscard]] std::string_view started_program(std::string_view command,
                                               std::initializer_list<std::string_view> programs);

/// A program that starts workers on its own node, and its arguments.
struct WorkerLauncher {
  std::string name;  // "torchrun", "accelerate launch", "torch.distributed.run"
  std::vector<std::string> arguments;
};

/// The launcher that a command with these words starts; nullopt: none.
[[nodiscard]] std::optional<WorkerLauncher> worker_launcher(const std::vector<std::string>& words);

/// The launcher of the first command of a shell text that starts one; nullopt: none.
[[nodiscard]] std::optional<WorkerLauncher> started_launcher(std::string_view command);

/// Whether the text refers to the variable: "$NAME" or "${NAME".
[[nodiscard]] bool mentions_variable(std::string_view text, std::string_view name);

}  // namespace dlaunch::jobfile
