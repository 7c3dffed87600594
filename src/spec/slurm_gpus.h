// How many GPUs a Slurm allocation has, as far as its variables say. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "model/environment.h"
#include "spec/slurm_allocation.h"

namespace dlaunch::spec {

/// "4", "a100:4", "gpu:a100:4(S:0-1)", "volta:2,kepler:1": the number that an option for GPUs asks
/// for, all types together. nullopt: no such text, or none are asked for.
[[nodiscard]] std::optional<int> count_gpus(std::string_view text);

/// Sets SlurmNode::gpus and SlurmAllocation::gpus. `allocation` has its nodes, with all of
/// SLURM_TASKS_PER_NODE. The first of these that is set counts (sbatch(1), OUTPUT ENVIRONMENT
/// VARIABLES; what 22.05.8 sets for which option was tried):
///   SLURM_GPUS_PER_NODE   of each node
///   SLURM_GPUS_PER_TASK   for each of a node's tasks, where these are told
///   SLURM_GPUS            of all nodes; how they are spread follows for one or two nodes from the
///                         number of dlaunch's own (SLURM_GPUS_ON_NODE)
///   SLURM_GPUS_ON_NODE    of dlaunch's own node, so of each (--gres, --gpus-per-socket)
///   SLURM_JOB_GPUS        "0,1,4-6": their numbers, likewise
/// With `salloc --gres` nothing of this is set.
///
/// Sets SlurmNode::step_gpus, too: a step that asks for nothing is meant to have what the job was
/// asked for. With --gpus-per-task that is the GPUs of one task, and with --gpus the GPUs of all
/// nodes, which no node has, so that srun fails (22.05.8).
void read_slurm_gpus(const Environment&, SlurmAllocation& allocation);

}  // namespace dlaunch::spec
