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
  std::vector<std::string> options;  // further options, one word each: "--constraint=a100"
};

/// The --comment of dlaunch's scripts, which identifies them in the queue.
inline constexpr const char* kSlurmComment = "dlaunch";

/// `command`: argv of `dlaunch run`; `folder`: absolute, where it starts.
///
/// The script requests the nodes, tasks and GPUs of the job, so the job fits the allocation
/// (jobfile/slurm_fit.h). Spares count as nodes. With `binding.gpus: one-per-process` the script
/// requests a GPU for each process, unless `SlurmRequest` already asks for GPUs. The script
/// replaces itself with dlaunch (exec), because --signal=B: sends SIGTERM to the script only. It
/// requests that signal early enough that `timeouts.stop` ends before the time limit. Words of the
/// command are quoted for the shell. Options of sbatch cannot be quoted, so an option with a blank,
/// a quote, '#' or '\' is refused. Errors (kUsage, kJobFile): such an option, a job that names its
/// hosts, processes_per_node: gpu without GPUs in the request, more ranks than requested GPUs.
[[nodiscard]] Result<std::string> slurm_script(const JobSpec&, const SlurmRequest&,
                                               const std::vector<std::string>& command,
                                               const std::string& folder);

}  // namespace dlaunch
