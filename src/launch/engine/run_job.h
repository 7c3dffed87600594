// The centre of the house: one run, from the first connection to the report.
#pragma once

#include "launch/engine/engine.h"
#include "supervise/supervisor.h"

namespace dlaunch {

/// Waits for events, asks the supervisor, performs its actions, until it is done.
/// Errors: only those that end the launcher itself (exit_code::kInternal).
[[nodiscard]] Result<RunReport> run_job(Engine& engine, Supervisor& supervisor);

}  // namespace dlaunch
