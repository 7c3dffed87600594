// Which nodes keep an attempt from being planned or started, where the others could go on.
#pragma once

#include <map>
#include <string>

#include "launch/session/preparation.h"
#include "model/cluster.h"
#include "model/ids.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "plan/make_plan.h"

namespace dlaunch {

/// The nodes at fault that the failed preparation of an attempt on `cluster` names, and what is
/// wrong with each; of nodes with too few GPUs or cores for a plan, only as many as the job can do
/// without. `last`: the plan of the last attempt whose ranks were started; a node that it does not
/// have is blamed before those that it has. Empty: the failure is not that of some of the nodes.
[[nodiscard]] std::map<NodeId, std::string> unusable_nodes(const JobSpec& spec,
                                                           const Cluster& cluster,
                                                           const PlanContext& context,
                                                           const LaunchPlan& last,
                                                           const Prepared& outcome);

}  // namespace dlaunch
