// Finds a run and connects to its engine, for a limited time.
#pragma once

#include <string>

#include "launch/questions/run_socket.h"

namespace dlaunch {

/// The run that `word` means (empty: the only live one), connected to its socket `name` of `type`
/// for `command` ("dlaunch attach"; `after` follows the run's id if the error names several runs).
/// A separate process does everything that touches the file system, and is abandoned if the file
/// system does not answer. Errors have been printed; their exit codes are returned. Must be called
/// before any thread exists.
[[nodiscard]] tl::expected<RunConnection, int> reach_run(const std::string& word,
                                                         const std::string& command,
                                                         const char* name, int type,
                                                         const std::string& after = "");

}  // namespace dlaunch
