// mpirun as the one who starts the ranks of a plan (mpi.launcher: mpirun). Pure.
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

/// What is looked for on node 0, in this order; empty: mpirun starts no ranks of this job.
[[nodiscard]] std::vector<std::string> mpirun_programs(const JobSpec&);

/// "Open MPI 4"
[[nodiscard]] std::string_view name_of(MpirunKind);

/// The subnet of node 0 in which the master's address is, "10.0.0.0/24"; empty: it is not known.
[[nodiscard]] std::string network_of(const LaunchPlan&, const Cluster&);

/// The fewest physical cores of a node.
[[nodiscard]] std::uint32_t fewest_cores(const Cluster&);

/// Fills LaunchPlan::mpirun, where the job wants it, and gives node 0 the hostfile; the plan is
/// complete but for that. Errors: exit_code::kNodeLost, there is no mpirun on node 0; kJobFile, it
/// is none that is known, or has no way for what the job says (mpirun_command()).
[[nodiscard]] Status add_mpirun(const JobSpec&, const Cluster&, const PlanContext&, LaunchPlan&);

}  // namespace dlaunch
