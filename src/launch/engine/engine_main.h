// What the engine process does, from its fork to its exit code.
#pragma once

#include "launch/engine/run_engine.h"

namespace dlaunch {

/// Runs one job in this process, which must not have threads and must lead its own session. Returns
/// the exit code of the run.
[[nodiscard]] int engine_main(const RunOptions& options, UniqueFd front_link);

}  // namespace dlaunch
