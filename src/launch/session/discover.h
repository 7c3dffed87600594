// The facts of the nodes without a run, for `dlaunch plan`.
#pragma once

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "plan/make_plan.h"

namespace dlaunch {

/// Connects to the nodes of the job, requests their facts, tests where they can meet, and
/// disconnects; starts nothing else. Must be called before any thread exists.
[[nodiscard]] Result<Cluster> discover_cluster(const JobSpec& spec, const PlanContext& context);

}  // namespace dlaunch
