// The user's side of `dlaunch attach`.
#pragma once

#include <string>
#include <vector>

#include "launch/questions/run_socket.h"
#include "model/ids.h"
#include "model/result.h"

namespace dlaunch {

/// Runs a command beside a rank until it ends, with this process's standard streams: on a terminal
/// of its own if stdin and stdout are terminals, else with pipes. Returns its exit code (128 + n
/// for signal n). The modes of the user's terminal are always restored. `run`: a connection to
/// kTerminalSocket. Errors: kUsage: there is no such rank, or it does not run; kNotFound,
/// kCannotExecute: the command; kNodeLost; kTimeLimit: no answer in time; kInternal: the run's
/// launcher has ended.
[[nodiscard]] Result<int> attach_to_rank(RunConnection run, Rank rank,
                                         std::vector<std::string> command);

}  // namespace dlaunch
