// The Slurm allocation that dlaunch runs in, from the variables that salloc, sbatch and srun set
// (their man pages, OUTPUT ENVIRONMENT VARIABLES). Pure.
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
  int tasks = 0;      // 0: no number of tasks was requested
  int cpus = 0;       // logical CPUs as Slurm counts them; 0: unknown
  int gpus = 0;       // read_slurm_gpus(); 0: unknown
  int step_gpus = 0;  // GPUs a step must request to get them all; 0: it gets them by default
  std::int64_t memory_mib = 0;  // for all processes of the job on the node; 0: unknown
  bool operator==(const SlurmNode&) const = default;
};

struct SlurmAllocation {
  std::string job;
  std::vector<SlurmNode> nodes;  // in Slurm's order
  int gpus = 0;                  // of all nodes together (--gpus); 0: unknown
  /// SLURM_JOB_END_TIME: when Slurm will end the job; nullopt: unknown (before Slurm 23.02).
  /// Without SLURM_JOB_START_TIME the value comes from an outer dlaunch whose rank called sbatch,
  /// not from Slurm.
  std::optional<std::chrono::seconds> end;  // since the epoch
  bool operator==(const SlurmAllocation&) const = default;
};

/// nullopt: not inside an allocation, because SLURM_JOB_ID or SLURM_JOB_NODELIST is not set. Tasks
/// per node are set only if some node has more than one: one task each is also Slurm's default, and
/// usually means "one launcher". In a step (srun --pty) the numbers describe the step and are
/// ignored. Errors (kJobFile): a variable that cannot be parsed, with its name.
[[nodiscard]] Result<std::optional<SlurmAllocation>> read_slurm_allocation(const Environment&);

/// "16 GiB of memory each", "8 to 16 GiB of memory each"; empty: not known for all nodes.
[[nodiscard]] std::string memory_text(const SlurmAllocation&);

/// Refuses a heterogeneous job (sbatch ... : ...): the usual variables describe only its first
/// component (kJobFile).
[[nodiscard]] Status check_one_component(const Environment&);

/// The hosts of an allocation; slots are the tasks.
[[nodiscard]] std::vector<HostSpec> hosts_of(const SlurmAllocation&);

/// Refuses to run in several tasks of srun: each would be a separate job (kUsage).
[[nodiscard]] Status check_single_task(const Environment&);

namespace jobfile {

/// "2(x3),1" is 2 2 2 1: SLURM_TASKS_PER_NODE, SLURM_JOB_CPUS_PER_NODE. nullopt: not such a list,
/// or more than `most` numbers.
[[nodiscard]] std::optional<std::vector<int>> read_repeated_counts(std::string_view text,
                                                                   std::size_t most);

/// "4", "a100:4", "gpu:a100:4(S:0-1)", "volta:2,kepler:1": the number of GPUs in the value of an
/// option, all types together. nullopt: not such a value, or no GPUs.
[[nodiscard]] std::optional<int> count_gpus(std::string_view text);

/// Sets SlurmNode::gpus and SlurmAllocation::gpus. `allocation` must have its nodes, with all tasks
/// of SLURM_TASKS_PER_NODE. The first of these that is set counts (sbatch(1), OUTPUT ENVIRONMENT
/// VARIABLES; which option sets which variable was checked with 22.05.8):
///   SLURM_GPUS_PER_NODE   of each node
///   SLURM_GPUS_PER_TASK   of each of a node's tasks, if their number is known
///   SLURM_GPUS            of all nodes; for one or two nodes, the number on dlaunch's own node
///                         (SLURM_GPUS_ON_NODE) shows how they are spread
///   SLURM_GPUS_ON_NODE    of dlaunch's own node, so of each (--gres, --gpus-per-socket)
///   SLURM_JOB_GPUS        "0,1,4-6": the ids of these GPUs
/// With `salloc --gres` none of these is set.
///
/// Also sets SlurmNode::step_gpus. A step that requests no GPUs inherits the request of the job:
/// with --gpus-per-task, the GPUs of one task; with --gpus, the GPUs of all nodes. No single node
/// has the latter, so srun fails (22.05.8).
void read_slurm_gpus(const Environment&, SlurmAllocation& allocation);

}  // namespace jobfile

}  // namespace dlaunch
