// The containers that ranks run in: which runtime, and how it is called on each node. Each rank has
// a container of its own: it starts, ends and fails with its rank, as a process does, and the ranks
// of two roles may have different images. They share the network, /dev/shm and the process numbers
// of the node, because NCCL, CUDA IPC and MPI talk to ranks beside them by these. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"
#include "plan/make_plan.h"

namespace dlaunch {

/// The programs of all runtimes that the job might use, to be looked for on the nodes; empty: none
/// of its ranks runs in a container.
[[nodiscard]] std::vector<std::string> container_programs(const JobSpec&);

[[nodiscard]] std::string_view name_of(Container::Runtime);

/// The container of a role's ranks: the role's own, else the job's; null: none.
[[nodiscard]] const Container* container_of(const JobSpec&, std::string_view role);

/// Whether every rank of the job runs in a container: then nothing is inherited from the node.
[[nodiscard]] bool all_contained(const JobSpec&);

/// Fills NodePlan::containers and RankPlan::container; workdir, output folders and GPUs are known.
/// Errors: exit_code::kPreflight, a node has no such runtime, or cannot bring GPUs or shared memory
/// into a container; kJobFile, the runtime has no way for what the job says.
[[nodiscard]] Status add_containers(const JobSpec&, const Cluster&, const PlanContext&,
                                    LaunchPlan&);

}  // namespace dlaunch
