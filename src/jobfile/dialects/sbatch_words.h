// What words of a batch script mean outside of its launch line.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "jobfile/launch_lines/launch_script.h"

namespace dlaunch::jobfile {

using Names = std::set<std::string, std::less<>>;

/// The options of sbatch(1) that are not in launcher_options.h: they describe the queue, the
/// machines or the mail.
[[nodiscard]] std::vector<std::string_view> other_sbatch_options();

/// Whether a command with this first word can be left out without a change for the ranks.
[[nodiscard]] bool is_harmless(std::string_view word);

/// The first word of a command.
[[nodiscard]] std::string first_word(const std::string& command);

/// Commands of a script, other than its launch line, that are not is_harmless().
struct IgnoredCommands {
  std::string first;               // the first word of the first command
  std::vector<std::string> shown;  // in quotes, at most five; at most two words of each
};
[[nodiscard]] IgnoredCommands ignored_commands(const LaunchScript& script);

/// The names in "$NAME" and "${NAME...".
[[nodiscard]] Names names_in(std::string_view text);

/// Whether the variable exists in every shell, or no shell needs it.
[[nodiscard]] bool is_usual(std::string_view name);

/// Whether the text takes values from Slurm's commands, or a list of its nodes.
[[nodiscard]] bool asks_slurm(std::string_view text);

/// The variables whose values need Slurm's commands.
[[nodiscard]] Names slurm_only_variables(const std::vector<ShellStep>& steps);

/// The steps that `command` needs, in order: all commands, exported variables, and variables that
/// `command` or a later needed step uses. Variables that hold secrets are left out.
[[nodiscard]] std::vector<const ShellStep*> needed_steps(const std::vector<ShellStep>& steps,
                                                         std::string_view command);

/// An `export` line for variables of Slurm; empty: nothing to set. With `is_task`, the line sets
/// the variables that srun sets for each task. It always sets the variables in `names` that hold
/// the job's id.
[[nodiscard]] std::string slurm_exports(const Names& names, bool is_task);

}  // namespace dlaunch::jobfile
