// The ports on which ranks listen. The agent of a rank's node finds them and holds them until the
// rank's exec(3). See also ports_wanted() and fixed_ports() in plan/make_plan.h.
#pragma once

#include <cstddef>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"

namespace dlaunch {

/// The number of nodes that must reach each other; with launch: once it is larger than plan.nodes.
[[nodiscard]] std::size_t nodes_of_job(const LaunchPlan& plan);

/// Sets plan.master and RankPlan::ports: a port for each task with an address in the cluster, and
/// for rank 0, after its own port, the master's port. Errors (exit_code::kPreflight): the agent
/// holds too few ports, or the chosen port is taken.
[[nodiscard]] Status assign_ports(const JobSpec& spec, const Cluster& cluster,
                                  const Meeting& meeting, LaunchPlan& plan);

/// Whether the ranks of such a job get a meeting address.
[[nodiscard]] bool needs_meeting(Framework framework);

}  // namespace dlaunch
