// Which ports ranks listen on. The agent of their node has found them and holds them until the
// rank's exec. (What agents are asked for: ports_wanted and fixed_ports, plan/make_plan.h.)
#pragma once

#include <cstddef>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"

namespace dlaunch {

/// Whether each rank is a task of a cluster, with an address of its own.
[[nodiscard]] bool has_tasks(Framework framework);

/// Nodes that have to reach each other: more than plan.nodes for launch: once.
[[nodiscard]] std::size_t nodes_of_job(const LaunchPlan& plan);

/// Sets plan.master and RankPlan::ports: a port of its node for each task that has an address in
/// the cluster, and the master's for rank 0, after its own. Errors (exit_code::kPreflight): too few
/// ports are held, or the one that was chosen is taken.
[[nodiscard]] Status assign_ports(const JobSpec& spec, const Cluster& cluster,
                                  const Meeting& meeting, LaunchPlan& plan);

/// Whether the ranks of such a job are told an address at which they meet.
[[nodiscard]] bool needs_meeting(Framework framework);

}  // namespace dlaunch
