// The main loop: one run, from the first connection to the report.
#pragma once

#include "launch/engine/engine.h"
#include "launch/engine/last_limit.h"
#include "supervise/supervisor.h"

namespace dlaunch {

/// Waits for events, asks the supervisor, and performs its actions, until the supervisor is done.
/// If the supervisor was told to end the run and has not done so within `limits` and a little more,
/// run_job() gives up. Errors: only those that end the launcher itself (exit_code::kInternal);
/// ranks may be running.
[[nodiscard]] Result<RunReport> run_job(Engine& engine, Supervisor& supervisor, EndLimits limits);

}  // namespace dlaunch
