// The content of a run folder's job.yaml: the job as it was run, to read and to run again. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"
#include "model/time.h"

namespace dlaunch {

/// The state of the workdir, if it is a git work tree.
struct GitState {
  std::string commit;  // empty: no work tree, or one without a commit
  std::string branch;  // empty: none
  /// The output of `git status --porcelain`; nullopt: not known (yet).
  std::optional<std::string> changes;
};

/// The job, from the command line and the job file.
struct JobRecord {
  /// The job as a native job file, with all settings of the command line; empty: its command is not
  /// UTF-8, so that no job file can hold it.
  std::string native;
  std::string given;    // the text of the given job file; empty: there was none
  std::string file;     // its name as typed
  std::string typed;    // the command line
  std::string version;  // of dlaunch
  std::string again;    // options that have no key in a job file, a space before each
  std::string note;     // other differences from the file; empty: none
};

/// The circumstances of a run.
struct RunOrigin {
  std::string run;
  WallTime started;
  std::string host;
  std::string kernel;              // "Linux 6.1.0 x86_64"
  std::string python_environment;  // VIRTUAL_ENV or CONDA_PREFIX; empty: none
  std::string folder;              // where dlaunch was started
  std::string shown_path;          // of the run folder, as typed in `folder`
  GitState git;
};

/// The text of job.yaml: comments on the job's origin, the native job, the given file as comments.
[[nodiscard]] std::string job_record_text(const JobRecord& record, const RunOrigin& origin);

/// The folder of the active virtual or conda environment; empty: there is none.
[[nodiscard]] std::string python_environment(const Environment& environment);

/// What the comments of a job_record_text() say; a member that they do not mention is empty.
struct RecordedOrigin {
  std::string version;  // of dlaunch
  std::string host;     // of the launcher
  std::string python_environment;
  std::string commit;
  std::vector<std::string> again;  // options without a key in a job file
  bool has_job = false;            // false: its command is not UTF-8
  bool operator==(const RecordedOrigin&) const = default;
};
[[nodiscard]] RecordedOrigin parse_job_record(std::string_view text);

}  // namespace dlaunch
