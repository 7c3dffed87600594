// `dlaunch exec --join FOLDER`: the process that mpirun starts in place of a rank of `dlaunch run`.
#pragma once

#include <string>

#include "model/environment.h"
#include "model/result.h"

namespace dlaunch {

/// Asks the agent whose folder this is to start the rank, waits for the rank's end and ends in the
/// same way: with its code, or by its signal. Ends with the process that has started it. Returns
/// only an Error: no place in the environment, no agent there, or its refusal
/// (exit_code::kPreflight).
[[nodiscard]] Error join_run(const std::string& folder, const Environment& environment);

}  // namespace dlaunch
