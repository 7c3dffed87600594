// The connector `slurm`: srun reaches the nodes of the Slurm allocation that dlaunch was started
// in. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/environment.h"

namespace dlaunch {

/// The command line for a step of one task on the host. The step shares the job's resources there
/// with all other steps (srun(1): --overlap), has all the job's memory and GPUs, and is not pinned;
/// srun's stdin and stdout are the task's, byte for byte. `option`: an additional option, such as
/// the GPUs that the step must request to have all of them (step_gpus()).
[[nodiscard]] std::vector<std::string> srun_words(const std::string& host,
                                                  const std::string& remote_command,
                                                  const std::string& option = "");

/// For each node of the allocation, the GPUs that a step there must request, see
/// jobfile/slurm_gpus.h; nodes whose steps need not request any are left out.
[[nodiscard]] std::map<std::string, int> step_gpus(const Environment&);

/// Removes variables that srun would take for options of the step (srun(1), INPUT ENVIRONMENT
/// VARIABLES) or that describe an outer step: `environment` holds NAME=VALUE.
void prepare_for_srun(std::vector<std::string>& environment);

/// The stderr of a Slurm command as one line, without "sbatch: error: " and the like.
[[nodiscard]] std::string words_of_slurm(const std::string& errors);

}  // namespace dlaunch
