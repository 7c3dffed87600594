// The Slurm allocation that dlaunch was started in, from the variables that salloc, sbatch and srun
// set (their man pages, OUTPUT ENVIRONMENT VARIABLES). Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

struct SlurmNode {
  std::string name;
  int tasks = 0;                // 0: Slurm was asked for no number of tasks
  int cpus = 0;                 // logical CPUs as Slurm counts them; 0: not told
  int gpus = 0;                 // spec/slurm_gpus.h; 0: not told
  int step_gpus = 0;            // what a step must ask for to have them all; 0: it has them unasked
  std::int64_t memory_mib = 0;  // that all processes of the job may use there; 0: not told
  bool operator==(const SlurmNode&) const = default;
};

struct SlurmAllocation {
  std::string job;
  std::vector<SlurmNode> nodes;  // in Slurm's order
  int gpus = 0;                  // of all nodes together (--gpus); 0: not told
  /// SLURM_JOB_END_TIME: when Slurm will end the job; nullopt: not told (before Slurm 23.02). One
  /// without SLURM_JOB_START_TIME is not Slurm's, but dlaunch's for the ranks of another job, of
  /// which one has called sbatch.
  std::optional<std::chrono::seconds> end;  // since the epoch
  bool operator==(const SlurmAllocation&) const = default;
};

/// nullopt: not inside an allocation, which is SLURM_JOB_ID with SLURM_JOB_NODELIST. A node's tasks
/// are told only where more than one was asked for on some node: one each is what Slurm says when
/// nothing was asked for, and mostly meant "one launcher". In a step (srun --pty) the numbers are
/// the step's, and not used. Errors (kJobFile): a variable that cannot be read, with its name.
[[nodiscard]] Result<std::optional<SlurmAllocation>> read_slurm_allocation(const Environment&);

/// "16 GiB of memory each", "8 to 16 GiB of memory each"; empty: not told of all nodes.
[[nodiscard]] std::string memory_text(const SlurmAllocation&);

/// Refuses a heterogeneous job (sbatch ... : ...): of its components, each with nodes of its own,
/// the usual variables tell the first only (kJobFile).
[[nodiscard]] Status check_one_component(const Environment&);

/// The hosts of an allocation, with their tasks as slots.
[[nodiscard]] std::vector<HostSpec> hosts_of(const SlurmAllocation&);

/// Refuses what srun has started several times: each would be a job of its own (kUsage).
[[nodiscard]] Status check_single_task(const Environment&);

namespace spec {

/// "2(x3),1" is 2 2 2 1: SLURM_TASKS_PER_NODE, SLURM_JOB_CPUS_PER_NODE. nullopt: no such list, or
/// more than `most` numbers.
[[nodiscard]] std::optional<std::vector<int>> read_repeated_counts(std::string_view text,
                                                                   std::size_t most);

}  // namespace spec

}  // namespace dlaunch
