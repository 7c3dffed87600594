// What a shell script says about a job: its launch line, and what surrounds it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobfile/launch_lines/launch_line.h"
#include "jobfile/launch_lines/script_text.h"

namespace dlaunch::jobfile {

/// A line that the program's shell runs before the program: a command that prepares the shell, or
/// an assignment whose value only the script knows.
struct ShellStep {
  std::string text;  // "export DATA=$(pwd)/data"
  std::string name;  // of the variable; empty: a command
  bool is_exported = false;
};

struct LaunchScript {
  std::optional<LaunchLine> line;          // the first one
  std::size_t offset = 0;                  // where it begins; bytes
  std::size_t line_number = 0;             // line number of `offset`, from 1
  std::vector<ScriptMistake> mistakes;     // why the job would differ from the script's
  std::vector<std::string> others;         // the launchers of further launch lines
  bool is_batch = false;                   // it has #SBATCH lines
  OwnOptions batch;                        // the options of these lines, after settle()
  std::vector<OwnSetting> env;             // exported or set before the launcher, with known values
  std::vector<std::string> conditional;    // exported in an `if` or a loop
  std::vector<std::string> env_unknown;    // exports whose value only the script knows
  std::vector<std::string> setup;          // commands that prepare the shell: source, module, conda
  std::vector<LeftOut> setup_unknown;  // more of these, with variables that only the script knows
  std::vector<LeftOut> left_out;           // commands that the job file lacks
  std::vector<ShellStep> steps;            // setup, `cd` to unknown folders, assignments; in order
  std::vector<ScriptMistake> set_by_commands;  // "NAME", set by commands such as `read`: unknown
  std::vector<std::string> ignored;        // other commands
  std::string loop;  // "for ...", which starts the line many times; empty: none
  std::string workdir;                     // set by `cd`; empty: none, or not known
  std::vector<std::string> substitutions;  // "$(pwd)"; the program's words have stand-ins for them
};

/// Reads up to the launch line, with the values that variables have at that line. `mistakes` lists
/// the parts that it does not understand. If it cannot find the script's commands, `line` is not
/// set. `knows_counts`: $SLURM_NNODES and $SLURM_NTASKS have the values that follow from the
/// #SBATCH lines.
[[nodiscard]] LaunchScript read_launch_script(std::string_view text, bool knows_counts = true);

}  // namespace dlaunch::jobfile
