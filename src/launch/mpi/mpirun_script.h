// `dlaunch export mpirun`: a script that starts a job with mpirun.
#pragma once

#include <string>

#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// The script for a job whose hosts are resolved. Connects to the nodes, as `dlaunch plan` does,
/// and runs `program --version` to find out which mpirun it is. Errors: those of the plan; jobs
/// that mpirun cannot run; a program that is not an mpirun.
[[nodiscard]] Result<std::string> make_mpirun_script(const JobSpec& spec,
                                                     const std::string& current_folder,
                                                     const std::string& program);

}  // namespace dlaunch
