// srun as the way to a node of the Slurm allocation that dlaunch was started in: its command line,
// its environment, and what its end means. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launch/connect/connect_failure.h"
#include "model/environment.h"
#include "model/job_spec.h"

namespace dlaunch {

inline constexpr const char* kSrun = "srun";

/// How the text begins when Slurm itself has ended a step: there is no way back then.
inline constexpr const char* kEndedBySlurm = "Slurm has ";

/// A step of one task on the host, which shares what the job has there with all other steps
/// (srun(1): --overlap), with all the job's memory and GPUs and no pinning of its own, and whose
/// stdin and stdout are the task's, byte for byte.
/// `gpus`: that it must ask for to have all of them (step_gpus()).
[[nodiscard]] std::vector<std::string> srun_words(const HostSpec& host,
                                                  const std::string& remote_command, int gpus = 0);

/// For each node of the allocation the GPUs that a step there must ask for, see spec/slurm_gpus.h;
/// nodes whose steps need not ask are left out.
[[nodiscard]] std::map<std::string, int> step_gpus(const Environment&);

/// Removes what srun would take for options of that step (srun(1), INPUT ENVIRONMENT VARIABLES) and
/// what tells of an outer step: `environment` holds NAME=VALUE.
void prepare_for_srun(std::vector<std::string>& environment);

/// What a command of Slurm has said on stderr, as one line: "sbatch: error: " and the like removed.
[[nodiscard]] std::string words_of_slurm(const std::string& errors);

/// As failure_of() and end_of_connection() for ssh.
[[nodiscard]] ConnectFailure srun_failure_of(const ConnectEnd& end);
[[nodiscard]] std::string end_of_srun(const ConnectEnd& end);

}  // namespace dlaunch
