// Plans with mpirun as the starter of ranks (mpi.launcher: mpirun). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"
#include "plan/make_plan.h"
#include "plan/mpirun_command.h"

namespace dlaunch {

/// The programs to look up on node 0, in this order; empty: mpirun starts no ranks of this job.
[[nodiscard]] std::vector<std::string> mpirun_programs(const JobSpec&);

/// "Open MPI 4"
[[nodiscard]] std::string_view name_of(MpirunKind);

/// The subnet of node 0 that contains the master's address, "10.0.0.0/24"; empty: unknown.
[[nodiscard]] std::string network_of(const LaunchPlan&, const Cluster&);

/// The smallest number of physical cores of a node.
[[nodiscard]] std::uint32_t fewest_cores(const Cluster&);

/// Fills LaunchPlan::mpirun, if the job uses it, and adds the hostfile to node 0; the plan is
/// otherwise complete. Errors: exit_code::kNodeLost, no mpirun on node 0; kJobFile, an unknown
/// mpirun, or one that does not support a setting of the job (mpirun_command()).
[[nodiscard]] Status add_mpirun(const JobSpec&, const Cluster&, const PlanContext&, LaunchPlan&);

}  // namespace dlaunch
