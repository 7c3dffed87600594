// The summary of a run: its cause, corrected by the ranks' output, and where it is reported
// (summary.json, the screen, GitHub).
#pragma once

#include <string>

#include "launch/engine/run_request.h"
#include "launch/engine/run_store.h"
#include "launch/output/output_side.h"
#include "launch/output/screen.h"
#include "launch/connect/node_targets.h"
#include "model/launch_plan.h"
#include "model/report.h"
#include "report/summary.h"

namespace dlaunch {

struct SummaryParts {
  const RunOptions& options;
  RunStore& store;
  Screen& screen;
  const OutputSide& output;
  const std::vector<NodeTarget>& targets;
  const LaunchPlan* plan = nullptr;  // null: there was none
  const std::vector<StallSeen>& stalls;
  const CheckpointAccounts& checkpoints;
  std::string slurm_reason;          // why Slurm sent the signal that ended the run; empty: unknown
  const std::vector<SpareStatus>& spares;  // at the end
  const CollectReport* collected = nullptr;
};

/// Call when all output has arrived. Writes summary.json, and corrects `report` if the ranks'
/// output shows that another rank is to blame. Returns the text to show at the end.
[[nodiscard]] std::string write_summary(RunReport& report, const SummaryParts& parts);
/// The same for an error that ended the launcher: without a summary, the run would look killed.
void write_summary(const Error& error, MonotonicTime elapsed, const SummaryParts& parts);

}  // namespace dlaunch
