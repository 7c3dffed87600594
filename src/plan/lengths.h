// No string that Linux would refuse reaches a node: execve(2) fails with E2BIG, which tells nobody
// which string it was. Pure.
#pragma once

#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"
#include "plan/make_plan.h"

namespace dlaunch {

/// Each argument and each NAME=VALUE, secrets too, must fit MAX_ARG_STRLEN: 32 pages, of 4 KiB
/// where they are smallest, with the final zero byte. Error: exit_code::kJobFile, with the name of
/// the variable or the place of the argument, never a value.
[[nodiscard]] Status check_lengths(const JobSpec&, const PlanContext&, const LaunchPlan&);

}  // namespace dlaunch
