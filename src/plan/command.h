// What a rank executes, and which Python or shell script that is. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/python.h"

namespace dlaunch {

/// The argv of a command; its program is looked up in the rank's PATH. The rules:
///
/// - A list without setup is executed unchanged, byte for byte.
/// - A string becomes `SHELL -c SCRIPT`, so the shell's messages begin with its name as usual.
/// - setup runs first, in the same shell, under `set -e`: the first line that fails, or a last
///   command that fails, ends the rank with its exit code. stderr then says "setup failed with code
///   N", unless setup mentions `trap` (our EXIT trap would replace setup's). `set -e` is off again
///   when the command begins. Other changes by setup (variables, functions, the folder, other
///   options) stay, except an EXIT trap from a sourced file. After setup, a list is executed by
///   `exec "$@"`, still byte for byte.
/// - A string that is one simple command with a program leaves no shell in between: bash executes
///   such a command directly; for sh, `exec` is prepended, because Debian's dash does not. After
///   setup, `exec` is used only if the first word is then a program and not a function of setup. It
///   is never used if setup mentions `trap`, because exec drops traps.
/// - is_own_shell is false if the leader certainly is the program itself. If true, the leader
///   starts as a shell and may become the program (bash executes the last command of any script
///   directly); so check that the leader is still a shell before signalling its children.
/// - sh scripts may use `source`, which dash lacks: in that case `source` is defined as `.`.
[[nodiscard]] CommandPlan plan_command(const Command&, Shell, const std::string& setup);

/// The command as written, on one line, without setup: for `dlaunch plan`.
[[nodiscard]] std::string command_text(const CommandPlan&);

/// True if prepending `exec` would change only the number of processes: the line is one command
/// without pipes, lists, subshells and assignments, and its first word is neither a keyword nor a
/// built-in of sh or bash.
[[nodiscard]] bool is_simple_command(std::string_view line);

/// python, python3, python3.12, in any folder.
[[nodiscard]] bool is_python(std::string_view program);

/// Parses the options of python(1) of all versions since 2.7. nullopt: it is not Python, runs
/// neither a script nor a module (-c, stdin, --version), or has an unknown option.
[[nodiscard]] std::optional<PythonCommand> python_command(const std::vector<std::string>& argv);

/// The script of `sh [options] FILE` and `bash [options] FILE`; nullopt: none, or uncertain.
[[nodiscard]] std::optional<std::string> shell_script(const std::vector<std::string>& argv);

}  // namespace dlaunch
