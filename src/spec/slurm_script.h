// The script that sbatch(1) is given for a job. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// What Slurm is asked for beside what the job file says.
struct SlurmRequest {
  std::string partition;
  std::string time;  // as sbatch takes it (minutes, 2:00:00, 1-12), or 90s, 30m, 2h, 7d
  std::string account;
  std::optional<std::uint32_t> gpus_per_node;
  std::optional<std::uint32_t> cpus_per_task;
  std::vector<std::string> options;  // further ones, a word each: "--constraint=a100"
};

/// What `sbatch --comment` of our scripts says, by which they are found again in the queue.
inline constexpr const char* kSlurmComment = "dlaunch";

/// `command`: argv of `dlaunch run`, `folder`: absolute, where it is to be started.
///
/// Nodes, tasks and GPUs are those of the job, so that it fits into what Slurm gives
/// (spec/slurm_fit.h): spares count as nodes; with `binding.gpus: one-per-process` a GPU is asked
/// for each process, unless the request has GPUs. The script becomes dlaunch (exec),
/// because the SIGTERM of --signal=B: is for the script only; and it asks for one so long before
/// the time limit that `timeouts.stop` fits in between. Words of the command are quoted for the
/// shell; options for sbatch cannot be, so one with a blank, a quote, '#' or '\' is refused.
/// Errors (kUsage, kJobFile): that, a job that names its hosts, processes_per_node: gpu without
/// GPUs in the request, more ranks than it has GPUs for.
[[nodiscard]] Result<std::string> slurm_script(const JobSpec&, const SlurmRequest&,
                                               const std::vector<std::string>& command,
                                               const std::string& folder);

}  // namespace dlaunch
