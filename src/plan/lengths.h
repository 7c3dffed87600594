// Rejects strings that Linux would refuse on the nodes: execve(2) fails with E2BIG and does not say
// which string was too long. Pure.
#pragma once

#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"
#include "plan/make_plan.h"

namespace dlaunch {

/// Each argument and each NAME=VALUE, including secrets, must fit MAX_ARG_STRLEN: 32 pages of at
/// least 4 KiB each, including the final zero byte. Error: exit_code::kJobFile, with the name of
/// the variable or the number of the argument, never a value.
[[nodiscard]] Status check_lengths(const JobSpec&, const PlanContext&, const LaunchPlan&);

}  // namespace dlaunch
