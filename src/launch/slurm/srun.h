// The connector `slurm`: srun reaches the nodes of the Slurm allocation that dlaunch was started
// in. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/environment.h"

namespace dlaunch {

/// A step of one task on the host, which shares what the job has there with all other steps
/// (srun(1): --overlap), with all the job's memory and GPUs and no pinning of its own, and whose
/// stdin and stdout are the task's, byte for byte.
/// `option`: one more, such as the GPUs that it must ask for to have all of them (step_gpus()).
[[nodiscard]] std::vector<std::string> srun_words(const std::string& host,
                                                  const std::string& remote_command,
                                                  const std::string& option = "");

/// For each node of the allocation the GPUs that a step there must ask for, see
/// jobfile/slurm_gpus.h; nodes whose steps need not ask are left out.
[[nodiscard]] std::map<std::string, int> step_gpus(const Environment&);

/// Removes what srun would take for options of that step (srun(1), INPUT ENVIRONMENT VARIABLES) and
/// what describes an outer step: `environment` holds NAME=VALUE.
void prepare_for_srun(std::vector<std::string>& environment);

/// The stderr of a command of Slurm as one line, without "sbatch: error: " and the like.
[[nodiscard]] std::string words_of_slurm(const std::string& errors);

}  // namespace dlaunch
