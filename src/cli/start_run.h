// Starts a job and looks after it until its end: what `dlaunch run` and `dlaunch rerun` do.
#pragma once

#include <functional>

#include "cli/command_line.h"
#include "cli/job_options.h"
#include "cli/load_job.h"

namespace dlaunch {

struct RunRequest {
  JobOptions job;
  bool dry_run = false;
  bool smoke = false;
  bool detach = false;
  bool no_preflight = false;
  bool quiet = false;
  int verbosity = 0;
  std::function<void(LoadedJob&)> adapt{};  // called once the job is read; empty: no change
};

/// Adds the options for how the job runs.
void add_run_options(CommandOptions options, RunRequest& request);

/// Returns the exit code of an error, which was printed, or of a dry run; otherwise this process
/// exits with the exit code of the run. Must be called before any thread exists.
[[nodiscard]] int start_run(const RunRequest& request);

}  // namespace dlaunch
