// The plan of a job without a run, for `dlaunch plan` and `dlaunch run --dry-run`.
#pragma once

#include <string>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"

namespace dlaunch {

struct PlanPreview {
  Cluster cluster;
  LaunchPlan plan;
};

/// Connects to the nodes for their facts, unless `offline`, and makes the plan. Must be called
/// before any thread exists.
[[nodiscard]] Result<PlanPreview> preview_plan(const JobSpec& spec,
                                               const std::string& current_folder, bool offline);

}  // namespace dlaunch
