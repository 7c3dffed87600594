// The options of `submit` and `export slurm`, and the batch script that they make.
#pragma once

#include <string>

#include "cli/job_options.h"
#include "jobfile/slurm_script.h"
#include "model/result.h"

namespace dlaunch {

void add_slurm_options(CommandOptions command, SlurmRequest& request);

struct SlurmScript {
  std::string name;  // of the job
  std::string text;
};
/// Prints the notes of the job on stderr. Errors: those of load_job() and slurm_script(); kUsage
/// for options that choose hosts.
[[nodiscard]] Result<SlurmScript> make_slurm_script(const JobOptions& job, SlurmRequest request);

}  // namespace dlaunch
