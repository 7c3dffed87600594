// `dlaunch stop`: ends a run of this machine from another process.
#pragma once

#include "model/result.h"
#include "runs/run_view.h"

namespace dlaunch {

struct StopOrder {
  bool now = false;         // kill at once
  bool checkpoint = false;  // first wait for a new checkpoint, at most timeouts.stop
};

/// Asks the launcher of the run to stop, or sends it a signal if its socket does not answer, and
/// waits until the run has ended; shows progress and the outcome on stderr. A run that is already
/// stopping is not told again, because that would kill its ranks in the middle of a checkpoint.
/// Kills the ranks directly if the launcher is stuck. Errors: kUsage: it has already ended, or has
/// no checkpoint.path; kNodeLost: it runs on another machine; kNoPermission: it belongs to another
/// user; kTimeLimit: it has not ended in time, or without the checkpoint.
[[nodiscard]] Status stop_run(const RunView& run, const StopOrder& order);

}  // namespace dlaunch
