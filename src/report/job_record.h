// What job.yaml of a run folder holds: the job as it was run, for reading and for running it again.
// Pure.
#pragma once

#include <optional>
#include <string>

#include "model/time.h"

namespace dlaunch {

/// The state of the workdir, if it is a git work tree.
struct GitState {
  std::string commit;  // empty: no work tree, or one without a commit
  std::string branch;  // empty: none
  /// What `git status --porcelain` says; nullopt: not known (yet).
  std::optional<std::string> changes;
};

/// What the command line and the job file say.
struct JobRecord {
  /// The job as a native job file, with everything that the command line has set; empty: its
  /// command is not UTF-8, and no job file can hold it.
  std::string native;
  std::string given;    // text of the job file as it was given; empty: there was none
  std::string file;     // its name as typed
  std::string typed;    // the command line
  std::string version;  // of dlaunch
  std::string again;    // options that no key of a job file stands for; each follows a space
  std::string note;     // what else is different from the file; empty: nothing
};

/// What is known once it runs.
struct RunOrigin {
  std::string run;
  WallTime started;
  std::string host;
  std::string kernel;              // "Linux 6.1.0 x86_64"
  std::string python_environment;  // VIRTUAL_ENV or CONDA_PREFIX; empty: none
  std::string folder;              // where dlaunch was started
  std::string shown_path;          // of the run folder, as a person there would type it
  GitState git;
};

/// The native job below comments that tell where it comes from, and the file as it was given, as
/// comments, below that.
[[nodiscard]] std::string job_record_text(const JobRecord& record, const RunOrigin& origin);

}  // namespace dlaunch
