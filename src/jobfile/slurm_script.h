// Writes the script for sbatch(1). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// Requests to Slurm beyond the job file.
struct SlurmRequest {
  std::string partition;
  std::string time;  // in sbatch's format (minutes, 2:00:00, 1-12), or 90s, 30m, 2h, 7d
  std::string account;
  std::optional<std::uint32_t> gpus_per_node;
  std::optional<std::uint32_t> cpus_per_task;
  std::vector<std::string> options;  // further ones, one word each: "--constraint=a100"
};

/// The --comment of our scripts, by which the queue is searched for them.
inline constexpr const char* kSlurmComment = "dlaunch";

/// `command`: argv of `dlaunch run`; `folder`: absolute, where it starts.
///
/// Nodes, tasks and GPUs are those of the job, so that it fits the allocation
/// (jobfile/slurm_fit.h): spares count as nodes; with `binding.gpus: one-per-process` a GPU is
/// requested for each process, unless the request has GPUs. The script becomes dlaunch (exec),
/// because the SIGTERM of --signal=B: goes to the script only; that signal is requested early
/// enough that `timeouts.stop` ends before the time limit. Words of the command are quoted for the
/// shell; options of sbatch cannot be quoted, so one with a blank, a quote, '#' or '\' is refused.
/// Errors (kUsage, kJobFile): such an option, a job that names its hosts, processes_per_node: gpu
/// without GPUs in the request, more ranks than requested GPUs.
[[nodiscard]] Result<std::string> slurm_script(const JobSpec&, const SlurmRequest&,
                                               const std::vector<std::string>& command,
                                               const std::string& folder);

}  // namespace dlaunch
