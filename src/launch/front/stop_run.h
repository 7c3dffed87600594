// `dlaunch stop`: ends a run of this machine from another process.
#pragma once

#include "model/result.h"
#include "runs/run_view.h"

namespace dlaunch {

/// Sends the launcher of the run the stop signal, or with `now` the signal to kill at once, and
/// waits until the run has ended; shows progress and the outcome on stderr. A run that is already
/// stopping gets no second signal, which would kill its ranks in the middle of a checkpoint. Kills
/// the ranks directly if the launcher is stuck. Errors: kUsage: it had ended before; kNodeLost: it
/// runs elsewhere; kNoPermission: it belongs to another user; kTimeLimit: it has not ended in time.
[[nodiscard]] Status stop_run(const RunView& run, bool now);

}  // namespace dlaunch
