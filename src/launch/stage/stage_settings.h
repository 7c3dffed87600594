#pragma once

#include "launch/stage/stage_run.h"
#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "plan/make_plan.h"

namespace dlaunch {

/// For all nodes of the plan. `cluster` must outlive the staging's settings: it knows the addresses
/// at which nodes may reach each other.
[[nodiscard]] StageRunSettings stage_settings(const JobSpec& spec, const LaunchPlan& plan,
                                              const Cluster& cluster);

}  // namespace dlaunch
