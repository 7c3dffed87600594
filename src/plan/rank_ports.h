// The ports on which ranks listen. Their node's agent finds them and holds them until the rank's
// exec. (See also ports_wanted and fixed_ports in plan/make_plan.h.)
#pragma once

#include <cstddef>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"

namespace dlaunch {

/// The number of nodes that must reach each other: more than plan.nodes for launch: once.
[[nodiscard]] std::size_t nodes_of_job(const LaunchPlan& plan);

/// Sets plan.master and RankPlan::ports: a port for each task with an address in the cluster, and
/// the master's port for rank 0, after rank 0's own. Errors (exit_code::kPreflight): too few ports
/// are held, or the chosen one is taken.
[[nodiscard]] Status assign_ports(const JobSpec& spec, const Cluster& cluster,
                                  const Meeting& meeting, LaunchPlan& plan);

/// Whether the ranks of such a job get a meeting address.
[[nodiscard]] bool needs_meeting(Framework framework);

}  // namespace dlaunch
