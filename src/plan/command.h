// What a rank executes, and what it is if it is Python or a shell script. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/python.h"

namespace dlaunch {

/// The argv of a command, looked up in the rank's PATH. The rules:
///
/// - A list without setup is executed unchanged, byte for byte.
/// - A string becomes `SHELL -c SCRIPT`, so the shell's messages begin with its name as usual.
/// - setup runs first, in the same shell, under `set -e`: its first failing line ends the rank with
///   that line's code, and so does a setup whose last command fails. stderr then says "setup failed
///   with code N", unless setup mentions `trap` (our EXIT trap would replace its own). `set -e` is
///   off again when the command begins; other changes by setup (variables, functions, the folder,
///   other options) stay, except an EXIT trap from a sourced file. After setup, a list is executed
///   by `exec "$@"`, still byte for byte.
/// - A string with one simple command of a program leaves no shell in between: bash does this
///   itself; for sh, `exec` is prepended, because Debian's dash does not. After setup this happens
///   only if the first word is a program at that point, not a function of setup; and never if setup
///   mentions `trap`, because exec drops traps.
/// - is_own_shell is false if the leader certainly is the program itself. If true, the leader
///   begins as a shell and may become the program (bash runs the last command of any script that
///   way), so before signalling the leader's children check that it is still a shell.
/// - sh scripts may use `source`, which dash lacks: it is then defined as `.`.
[[nodiscard]] CommandPlan plan_command(const Command&, Shell, const std::string& setup);

/// The command as written, on one line, without setup: for `dlaunch plan`.
[[nodiscard]] std::string command_text(const CommandPlan&);

/// True if prepending `exec` changes only the number of processes: one command without pipes,
/// lists, subshells and assignments, whose first word is neither a keyword nor a built-in of sh or
/// bash.
[[nodiscard]] bool is_simple_command(std::string_view line);

/// python, python3, python3.12, in any folder.
[[nodiscard]] bool is_python(std::string_view program);

/// Parses the options of python(1) of all versions since 2.7. nullopt: not Python, neither a script
/// nor a module (-c, stdin, --version), or an unknown option.
[[nodiscard]] std::optional<PythonCommand> python_command(const std::vector<std::string>& argv);

/// The script of `sh [options] FILE` and `bash [options] FILE`; nullopt: none, or uncertain.
[[nodiscard]] std::optional<std::string> shell_script(const std::vector<std::string>& argv);

}  // namespace dlaunch
