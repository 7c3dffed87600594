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

namespace dlaunch {

struct Places {
  struct Program {
    std::string name;  // as execvp(3) takes it
    std::optional<std::string>
        search_path;  // PATH, where the job sets one; else what ranks inherit
    bool operator==(const Program&) const = default;
  };
  std::vector<Program> programs;
  std::vector<std::string> files;  // to be read; relative ones are meant from the workdir
  bool operator==(const Places&) const = default;
};

/// For the ranks of one node, each once:
///  - what is executed: the program of a list, or the shell;
///  - of a string without setup, when it is one simple command: its first word (with `shell: bash`
///    only if it holds a '/', because bash may have functions from outside);
///  - the script of `python [options] FILE.py`, without setup;
///  - the files that setup sources (plainly_sourced()).
[[nodiscard]] Places places_of(const JobSpec&, const LaunchPlan&, NodeIndex);

/// The files of `source FILE` and `. FILE` in setup, up to the first line that might make files, go
/// to another folder or be conditional. Names without '/' are left out: shells look for them in
/// PATH.
[[nodiscard]] std::vector<std::string> plainly_sourced(std::string_view setup);

/// The script of a Python command line; nullopt: it has none, or none that is plainly a file.
[[nodiscard]] std::optional<std::string> python_script(const std::vector<std::string>& argv);

}  // namespace dlaunch
