// What must be there on a node for its ranks to start, as far as it can be told from the job
// without running it. Better silent than wrong: a shell can do anything, so only what is plainly a
// program or a file is named. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/python.h"

namespace dlaunch {

struct Places {
  struct Program {
    std::string name;  // as execvp(3) takes it
    std::optional<std::string>
        search_path;  // PATH, where the job sets one; else what ranks inherit
    bool operator==(const Program&) const = default;
  };
  /// A Python and what it is to run.
  struct Python {
    std::string name;                        // as of Program
    std::optional<std::string> search_path;  // as of Program
    PythonCommand command;
    Environment env;  // that the job sets, without secrets
    bool operator==(const Python&) const = default;
  };
  std::vector<Program> programs;
  std::vector<std::string> files;  // to be read; relative ones are meant from the workdir
  std::vector<Python> pythons{};
  bool operator==(const Places&) const = default;
};

/// For the ranks of one node, each once:
///  - what is executed: the program of a list, or the shell;
///  - of a string without setup, when it is one simple command: its first word (with `shell: bash`
///    only if it holds a '/', because bash may have functions from outside);
///  - what a Python runs, and the script of `sh FILE`, without setup;
///  - the files that setup sources (plainly_sourced()).
[[nodiscard]] Places places_of(const JobSpec&, const LaunchPlan&, NodeIndex);

/// The files of `source FILE` and `. FILE` in setup, up to the first line that might make files, go
/// to another folder or be conditional. Names without '/' are left out: shells look for them in
/// PATH.
[[nodiscard]] std::vector<std::string> plainly_sourced(std::string_view setup);

/// One rank of the node for each command and set of variables that the user gave. Ranks in
/// containers are left out: their files are those of the image.
[[nodiscard]] std::vector<Rank> ranks_of_each_kind(const LaunchPlan& plan, NodeIndex node);

/// The command that a rank was planned from.
[[nodiscard]] const Command& command_of(const JobSpec& spec, const RankPlan& rank);

/// PATH, where the job sets it for this rank; nullopt: the rank inherits it.
[[nodiscard]] std::optional<std::string> path_set_for(const LaunchPlan& plan, const RankPlan& rank);

}  // namespace dlaunch
