// The containers in which ranks run: the runtime, and its command line on each node. Each rank has
// its own container, which starts, ends and fails with it like a process, and roles may have
// different images. The containers share the node's network, /dev/shm and process numbers, because
// NCCL, CUDA IPC and MPI use them to reach other ranks on the node. Pure.
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

/// The programs, to look up on the nodes, of all runtimes that the job may use; empty: no rank runs
/// in a container.
[[nodiscard]] std::vector<std::string> container_programs(const JobSpec&);

[[nodiscard]] std::string_view name_of(Container::Runtime);

/// The container of a role's ranks: the role's own, else the job's; null: none.
[[nodiscard]] const Container* container_of(const JobSpec&, std::string_view role);

/// Whether every rank runs in a container, so that no rank inherits the node's environment.
[[nodiscard]] bool all_contained(const JobSpec&);

/// Fills NodePlan::containers and RankPlan::container; the plan must already have its workdir,
/// output folders and GPUs. Errors: exit_code::kPreflight if a node lacks the runtime or cannot
/// provide GPUs or shared memory in a container; kJobFile if the runtime does not support a setting
/// of the job.
[[nodiscard]] Status add_containers(const JobSpec&, const Cluster&, const PlanContext&,
                                    LaunchPlan&);

}  // namespace dlaunch
