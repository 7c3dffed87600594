// A run whose output is read by dlaunch itself: the ordinary front and engine in a child process,
// with a pipe as their stdout. What they say to people goes to stderr as ever.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/child_run.h"
#include "cli/collectives_command.h"
#include "cli/job_options.h"
#include "launch/engine/run_engine.h"
#include "measure/record.h"
#include "model/result.h"
#include "report/run_ending.h"

namespace dlaunch {

struct ReadRun {
  int exit_code = 0;                // of the run, as `dlaunch run` would return it
  std::string run_folder;           // in which runs are; empty: removed
  std::optional<RunEnding> ending;  // its summary, if it has left one
};

/// Which run folders stay.
enum class KeepRun {
  never,  // the caller's output and the run's last lines are all that remains
  /// Not those of runs that ended well, were stopped (SIGINT, SIGTERM), or started no rank,
  /// so that the message says everything (kUsage, kJobFile, kPreflight).
  failed,
  always,
};

/// How a run ended, in a sentence: "failed after 3.1 s: rank 1 on node2 was killed by SIGKILL".
[[nodiscard]] std::string failure_text(const ReadRun& run);

/// Runs it, with a private temporary folder as logs.dir, and gives each line of its stdout, without
/// its end, to `on_line`, in this process. An error of `on_line` ends the run, and is returned,
/// with where the folder is, if it is kept. SIGINT and SIGTERM end the run as usual;
/// this returns when nothing of it is left. Must be called before any thread exists.
[[nodiscard]] Result<ReadRun> read_run(RunOptions options, KeepRun keep, const OnLine& on_line);

/// What is measured, where.
struct MeasuredJob {
  std::string name;                 // "bench"
  JobOptions hosts;                 // of the command line; no file and no command
  AttemptPlanner::Prepare prepare;  // sets the command (collectives_words()), and perhaps how many
  KeepRun keep = KeepRun::failed;
  int verbosity = 0;
};

/// A run of measuring ranks: rank 0's records come to `on_record`, the others write to stderr only.
/// Errors: as load_job(), resolve_job_hosts(), read_run(); kInternal for a line that is no record.
[[nodiscard]] Result<ReadRun> measured_run(
    MeasuredJob job, const std::function<Status(const measure::Record&)>& on_record);

}  // namespace dlaunch
