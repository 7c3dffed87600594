// The main loop: one run, from the first connection to the report.
#pragma once

#include "launch/engine/engine.h"
#include "launch/engine/last_limit.h"
#include "supervise/supervisor.h"

namespace dlaunch {

/// Waits for events, asks the supervisor, performs its actions, until it is done. If the supervisor
/// is told to end the run and does not, within `limits` and a little more, this gives up instead.
/// Errors: only those that end the launcher itself (exit_code::kInternal); ranks may be running.
[[nodiscard]] Result<RunReport> run_job(Engine& engine, Supervisor& supervisor, EndLimits limits);

}  // namespace dlaunch
