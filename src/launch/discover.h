// The facts of the nodes without a run, for `dlaunch plan`.
#pragma once

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// Connects to the nodes of the job, asks for their facts and lets them go again; starts nothing
/// else. Must be called before any thread exists.
[[nodiscard]] Result<Cluster> discover_cluster(const JobSpec& spec);

}  // namespace dlaunch
