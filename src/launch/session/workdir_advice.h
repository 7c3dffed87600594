#pragma once

#include <string>

#include "launch/session/missing_prerequisites.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "plan/make_plan.h"

namespace dlaunch {

/// What the launcher's own copy of the workdir says about prerequisites that are missing on other
/// nodes: that a sync would bring them, or leaves them out. Lines to append to the error; empty:
/// nothing. Reads the workdir here, for at most 2 s.
[[nodiscard]] std::string workdir_advice(const MissingPrerequisites& missing, const JobSpec& spec,
                                         const PlanContext& context, const LaunchPlan& plan);

}  // namespace dlaunch
