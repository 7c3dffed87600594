// Files and programs that a node needs to start its ranks, as far as the job file shows them. Lists
// only obvious ones, because a shell can do anything and a false alarm is worse than a missed
// problem. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/python.h"

namespace dlaunch {

struct Prerequisites {
  struct Program {
    std::string name;                        // as passed to execvp(3)
    std::optional<std::string> search_path;  // PATH, if the job sets one; else the ranks inherit it
    bool operator==(const Program&) const = default;
  };
  /// A Python and what it runs.
  struct Python {
    std::string name;                        // as in Program
    std::optional<std::string> search_path;  // as in Program
    PythonCommand command;
    Environment env;  // the variables that the job sets, without secrets
    bool operator==(const Python&) const = default;
  };
  std::vector<Program> programs;
  std::vector<std::string> files;  // must be readable; relative to the workdir unless absolute
  std::vector<Python> pythons{};
  bool operator==(const Prerequisites&) const = default;
};

/// What the ranks of one node need, each item once:
/// - the executed program: the program of a list, or the shell;
/// - for a string without setup that is one simple command: its first word (with `shell: bash` only
///   if it contains a '/', because bash may import functions);
/// - what a Python runs, and the script of `sh FILE`, without setup;
/// - the files that setup sources (plainly_sourced()).
[[nodiscard]] Prerequisites prerequisites_of(const JobSpec&, const LaunchPlan&, NodeRank);

/// The files of `source FILE` and `. FILE` in setup, up to the first line that might create files,
/// change the folder or be conditional. Excludes names without '/', which shells look up in PATH.
[[nodiscard]] std::vector<std::string> plainly_sourced(std::string_view setup);

/// One rank of the node for each combination of command and user variables. Excludes ranks in
/// containers, whose files are in the image.
[[nodiscard]] std::vector<Rank> ranks_of_each_kind(const LaunchPlan& plan, NodeRank node);

/// The command from which the rank was planned.
[[nodiscard]] const Command& command_of(const JobSpec& spec, const RankPlan& rank);

/// PATH, if the job sets it for this rank; nullopt: the rank inherits it.
[[nodiscard]] std::optional<std::string> path_set_for(const LaunchPlan& plan, const RankPlan& rank);

}  // namespace dlaunch
