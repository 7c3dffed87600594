// Checks whether a job fits the Slurm allocation that dlaunch runs in. Pure.
#pragma once

#include "jobfile/slurm_allocation.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// Compares the job's nodes (including spares), processes, processes_per_node and roles with the
/// nodes, tasks, CPUs and GPUs of the allocation. Values that Slurm does not provide are not
/// compared, nor are rank counts that depend on the nodes' GPUs. GPUs count only where ranks use
/// them: never with `binding.gpus: none`, and for roles, which may share a GPU, only with
/// one-per-process. `mpi.oversubscribe` allows more ranks than CPUs. Memory is not compared because
/// the job's need is unknown. Errors (kJobFile) name both numbers and the change to make.
[[nodiscard]] Status check_allocation(const JobSpec&, const SlurmAllocation&);

/// Whether each rank uses a GPU of its own where GPUs exist: the GPU whose index is its LOCAL_RANK,
/// or the GPU assigned to it (one-per-process).
[[nodiscard]] bool has_gpu_for_each_rank(const JobSpec&);

/// The number of role tasks that need a GPU: all but those of ps and the evaluator. The evaluator
/// runs without a GPU if none is left.
[[nodiscard]] long computing_tasks(const JobSpec&);

}  // namespace dlaunch
