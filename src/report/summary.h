// What dlaunch says about a run, on the screen and in summary.json. Pure: the caller reads files
// and clocks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/checkpoint.h"
#include "model/launch_plan.h"
#include "model/report.h"
#include "model/stage.h"
#include "model/status.h"
#include "report/evidence.h"
#include "report/metrics.h"
#include "report/stall_seen.h"
#include "supervise/wording.h"
#include "text/wrap.h"

namespace dlaunch {

/// The Slurm job in which the run was.
struct SlurmPart {
  std::string job;               // empty: none
  std::string said;              // why Slurm sent the signal that ended the run; empty: unknown
  std::optional<WallTime> ends;  // the end of the job's time, as known at the start
};

struct SummaryInput {
  const LaunchPlan* plan = nullptr;  // null when there was none
  const RunReport& report;
  std::string run_path;  // as shown to the user: relative to the cwd when below it; empty: none
  Evidence evidence;     // of outcome.first
  int max_last_lines = 10;
  wording::NodeNames node_names = {};  // used if there is no plan
  SlurmPart slurm = {};
  std::vector<std::string> preflight = {};  // nodes that were left out or replaced, and why
  std::vector<Metric> metrics = {};  // of report.attempt; on the screen unless the run has failed
  std::vector<std::string> notes = {};  // about a successful run, a sentence each
  std::vector<StallSeen> stalls = {};   // of all attempts
  std::vector<SpareStatus> spares = {};  // of the last attempt
  CheckpointAccounts checkpoints = {};  // of all attempts; none without checkpoint.path
  std::vector<std::string> checkpoint_patterns = {};
  const CollectReport* collected = nullptr;  // null: the job collects nothing
  std::optional<Rank> stdin_rank = {};  // the rank that read the user's stdin
  std::size_t columns = kScreenColumns;  // of the screen
  bool colour = false;
  /// The console has just shown the end of the rank's output, so its traceback is not quoted again.
  bool on_screen = false;
};

/// One statement if the run succeeded or the user stopped it. Otherwise one screen (at most 24
/// lines of `columns` columns, except for long words): the first failure, the rank's last lines,
/// how the other ranks ended, and where the logs are. Leaves out what is unknown. Every line ends
/// with "\n"; the first line of a statement starts with "dlaunch: ".
[[nodiscard]] std::string summary_text(const SummaryInput& input);

/// The content of summary.json; docs/reference/run-folder.md has its members.
[[nodiscard]] std::string summary_json(const SummaryInput& input);

/// "dlaunch: cifar-ddp, 8 ranks on 2 nodes (pytorch), run 20261120-210142-k3f\n"
[[nodiscard]] std::string start_line(const LaunchPlan& plan);

}  // namespace dlaunch
