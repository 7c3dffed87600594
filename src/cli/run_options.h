// From a job as it was read to what its engine is told: for every command that runs one.
#pragma once

#include <string>

#include "cli/job_options.h"
#include "launch/engine/run_engine.h"

namespace dlaunch {

/// With the environment of this process, and all else as RunOptions has it by default. `folder`:
/// the current one.
[[nodiscard]] RunOptions run_options(LoadedJob job, const std::string& folder);

}  // namespace dlaunch
