// What a rank executes.
#pragma once

#include <string>
#include <string_view>

#include "model/job_spec.h"
#include "model/launch_plan.h"

namespace dlaunch {

/// The argv of a command, looked up in the rank's PATH. The rules:
///
/// - A list without setup is executed as it is, byte for byte.
/// - A string becomes `SHELL -c SCRIPT`, so messages of the shell begin with the shell's name, as
/// everywhere.
/// - setup runs first, in the same shell, under `set -e`: its first failing line ends the rank with
///   that line's code, and so does a setup whose last command fails; "setup failed with code N" on
///   stderr says so, unless setup mentions `trap` (ours on EXIT would take its place). `set -e` is
///   off again when the command begins; anything else that setup changes (variables, functions, the
///   folder, other options) stays, but for an EXIT trap that a sourced file has set. After setup, a
///   list is executed by `exec "$@"`, still byte for byte.
/// - A string that is one simple command of a program leaves no shell in between: bash sees to that
/// by itself, for sh
///   `exec` goes in front, because Debian's dash does not. After setup that happens only if the
///   first word is a program then, and not a function of setup's; and not at all when setup
///   mentions `trap`, because exec drops traps.
/// - is_own_shell is false when the leader surely is the program itself. Where it is true the
/// leader begins as
///   a shell and may still become the program (bash runs the last command of any script so):
///   whoever signals the leader's children must first see that it still is a shell.
/// - sh scripts may say `source`, which dash does not know: where the word occurs it is defined as
/// `.`.
[[nodiscard]] CommandPlan plan_command(const Command&, Shell, const std::string& setup);

/// What the user wrote, on one line, without setup: for `dlaunch plan`.
[[nodiscard]] std::string command_text(const CommandPlan&);

/// True when `exec` in front of the line changes nothing but the number of processes: one command
/// without pipes, lists, subshells and assignments, whose first word is neither a keyword nor a
/// built-in of sh or bash.
[[nodiscard]] bool is_simple_command(std::string_view line);

/// One word for a POSIX shell, quoted only where it must be.
[[nodiscard]] std::string shell_quoted(std::string_view word);

}  // namespace dlaunch
