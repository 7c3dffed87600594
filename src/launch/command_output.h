// Runs a command of the system, such as sbatch or squeue, to its end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

struct CommandOutput {
  int wait_status = 0;  // waitpid(2)
  std::string out;      // the first 1 MiB
  std::string errors;   // the end of it
};

/// `input`: for its stdin. Errors (kNodeLost): there is no such program, or it has not ended within
/// `limit`, and was killed. To be called where no other thread or event loop runs.
[[nodiscard]] Result<CommandOutput> command_output(const std::vector<std::string>& argv,
                                                   std::string_view input, Duration limit);

}  // namespace dlaunch
