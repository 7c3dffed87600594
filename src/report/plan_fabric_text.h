// The part of `dlaunch plan` that says what the network made of variables.
#pragma once

#include <string>

#include "model/launch_plan.h"

namespace dlaunch {

/// Appends a line or more for each such variable, by node where nodes differ, with its reason.
void add_fabric_variables(std::string& out, const LaunchPlan& plan);

}  // namespace dlaunch
