// srun as the way to a node of the Slurm allocation that dlaunch was started in: its command line,
// its environment, and what its end means. Pure.
#pragma once

#include <string>
#include <vector>

#include "launch/connect/connect_failure.h"
#include "model/job_spec.h"

namespace dlaunch {

inline constexpr const char* kSrun = "srun";

/// How the text begins when Slurm itself has ended a step: there is no way back then.
inline constexpr const char* kEndedBySlurm = "Slurm has ";

/// A step of one task on the host, which shares what the job has there with all other steps
/// (srun(1): --overlap), with all the job's memory and no pinning of its own, and whose stdin and
/// stdout are the task's, byte for byte.
[[nodiscard]] std::vector<std::string> srun_words(const HostSpec& host,
                                                  const std::string& remote_command);

/// Removes what srun would take for options of that step (srun(1), INPUT ENVIRONMENT VARIABLES) and
/// what tells of an outer step: `environment` holds NAME=VALUE.
void prepare_for_srun(std::vector<std::string>& environment);

/// What a command of Slurm has said on stderr, as one line: "sbatch: error: " and the like removed.
[[nodiscard]] std::string words_of_slurm(const std::string& errors);

/// As failure_of() and end_of_connection() for ssh.
[[nodiscard]] ConnectFailure srun_failure_of(const ConnectEnd& end);
[[nodiscard]] std::string end_of_srun(const ConnectEnd& end);

}  // namespace dlaunch
