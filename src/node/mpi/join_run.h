// `dlaunch exec --join FOLDER`: the proxy that mpirun starts in place of a rank of `dlaunch run`.
#pragma once

#include <string>

#include "model/environment.h"
#include "model/result.h"

namespace dlaunch {

/// Asks the agent that owns the folder to start the rank, waits for its end and ends in the same
/// way: with its exit code, or by its signal. Ends with its parent. Returns only an Error
/// (exit_code::kPreflight): the environment names no rank, no agent listens, or the agent refuses.
[[nodiscard]] Error join_run(const std::string& folder, const Environment& environment);

}  // namespace dlaunch
