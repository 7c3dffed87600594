// The run that a command means when it names none.
#pragma once

#include <string>

#include "runs/run_index.h"

namespace dlaunch {

/// The only run that has not ended. Errors: there is none, or there are several: then the message
/// has a line for each, with `command` ("dlaunch stop") before its id.
[[nodiscard]] Result<RunView> only_live_run(const RunFolders& folders, const std::string& command);

}  // namespace dlaunch
