// Whether a job fits into the Slurm allocation that dlaunch was started in. Pure.
#pragma once

#include "model/job_spec.h"
#include "model/result.h"
#include "spec/slurm_allocation.h"

namespace dlaunch {

/// Nodes with spares, processes, processes_per_node and roles against the nodes, tasks, CPUs and
/// GPUs that the allocation tells. What it does not tell is not compared, and neither are numbers
/// of ranks that are not known before the nodes have answered (one for each GPU). GPUs count where
/// ranks use them: not with `binding.gpus: none`, and for roles, of which several may share one,
/// only with one-per-process. More ranks than CPUs are let through with `mpi.oversubscribe`. Memory
/// is not compared: nobody knows what the job needs.
/// Errors (kJobFile) name both numbers and what to change.
[[nodiscard]] Status check_allocation(const JobSpec&, const SlurmAllocation&);

/// Whether each rank uses a GPU of its own where there are some: that of its LOCAL_RANK, or the one
/// that it is given (one-per-process).
[[nodiscard]] bool has_gpu_for_each_rank(const JobSpec&);

/// How many tasks of roles use a GPU: all but ps, and but the evaluator, which does without where
/// none is left.
[[nodiscard]] long computing_tasks(const JobSpec&);

}  // namespace dlaunch
