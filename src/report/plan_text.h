// A plan for people: `dlaunch plan`.
#pragma once

#include <string>

#include "model/cluster.h"
#include "model/ids.h"
#include "model/launch_plan.h"

namespace dlaunch {

/// The whole plan in columns for 80 characters, with a final newline. If there are more than 64
/// ranks, shows only the first 8 and the last 2 ranks of each node, and of more than 10 nodes only
/// the first 8 and the last 2. Values of passed variables (env_pass, env_secret) are not shown.
[[nodiscard]] std::string plan_text(const LaunchPlan&, const Cluster&);

/// The variables that one rank gets from dlaunch, one per line: `NAME=VALUE  # reason`, rank
/// variables first. Values are quoted for a POSIX shell if necessary, so that the lines can be
/// sourced; secrets are ***. The last lines are comments that name what the rank does not inherit.
/// `rank` must be one of the plan's.
[[nodiscard]] std::string plan_env_text(const LaunchPlan&, const Cluster&, Rank rank);

}  // namespace dlaunch
