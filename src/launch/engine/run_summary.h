// The summary of a run: its cause, corrected by what the ranks have printed, and where it is
// reported (summary.json, the screen, GitHub).
#pragma once

#include <string>

#include "launch/engine/run_request.h"
#include "launch/engine/run_store.h"
#include "launch/output/output_side.h"
#include "launch/output/screen.h"
#include "model/cluster.h"
#include "model/launch_plan.h"
#include "model/report.h"
#include "report/summary.h"

namespace dlaunch {

struct SummaryParts {
  const RunOptions& options;
  RunStore& store;
  Screen& screen;
  const OutputSide& output;
  const Cluster& cluster;
  const LaunchPlan* plan = nullptr;  // null: there was none
  std::string slurm_reason;          // why the signal came that ended the run; empty: not known
};

/// When all output is there. Writes summary.json, and corrects `report` where the ranks' words show
/// that another one is to blame. Returns what is to be shown at the end.
[[nodiscard]] std::string write_summary(RunReport& report, const SummaryParts& parts);
/// The same of an error that ended the launcher: the run would look as if it had been killed.
void write_summary(const Error& error, MonotonicTime elapsed, const SummaryParts& parts);

}  // namespace dlaunch
