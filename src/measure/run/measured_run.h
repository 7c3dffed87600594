// A run of measuring ranks whose records dlaunch reads itself: the ordinary front and engine in a
// child process, with a pipe as their stdout. Messages for the user go to stderr as usual.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/engine/run_request.h"
#include "measure/figures/record.h"
#include "measure/figures/settings.h"
#include "measure/run/layout.h"
#include "model/result.h"
#include "runs/run_ending.h"

namespace dlaunch {

struct MeasuredRun {
  int exit_code = 0;                // as `dlaunch run` would return it
  std::string run_folder;           // parent of the run's folder; empty: removed
  std::optional<RunEnding> ending;  // from its summary, if it wrote one
};

/// Which run folders are kept.
enum class KeepRun {
  never,
  /// Only those of runs that failed after a rank had started: for the others (kUsage, kJobFile,
  /// kPreflight, SIGINT, SIGTERM) the message on stderr says everything.
  failed,
  always,
};

/// The command of a measuring rank: `dlaunch collectives`, with dlaunch named as /proc/self/exe of
/// the agent, because its path may differ between nodes.
[[nodiscard]] std::vector<std::string> collectives_words(MeasureBackend backend,
                                                         const std::string& mode,
                                                         const measure::Settings& settings);

/// How a run ended, in a sentence: "failed after 3.1 s: rank 1 on node2 was killed by SIGKILL".
[[nodiscard]] std::string failure_text(const MeasuredRun& run);

/// Runs `options.spec`, whose command is that of collectives_words(), with the settings that every
/// measurement needs (MPI, no binding to the job's working directory, output of rank 0 only) and a
/// private temporary folder as logs.dir. Each record that rank 0 prints goes to `on_record` in this
/// process; an error of `on_record`, or a line that is not a record (kInternal), ends the run and
/// is returned, with the folder's path if it is kept. SIGINT and SIGTERM end the run as usual.
/// Returns when all processes of the run are gone. Must be called before any thread exists.
[[nodiscard]] Result<MeasuredRun> measured_run(
    RunOptions options, KeepRun keep,
    const std::function<Status(const measure::Record&)>& on_record);

}  // namespace dlaunch
