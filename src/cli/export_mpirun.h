// `dlaunch export mpirun`: a job as a script that starts it with mpirun.
#pragma once

#include <string>

#include "cli/job_options.h"
#include "model/result.h"

namespace dlaunch {

/// The script. Connects to the nodes, as `dlaunch plan` does, and asks `program` which mpirun it
/// is. Errors: what the job, the nodes or mpirun do not allow.
[[nodiscard]] Result<std::string> make_mpirun_script(const JobOptions& options,
                                                     const std::string& program);

}  // namespace dlaunch
