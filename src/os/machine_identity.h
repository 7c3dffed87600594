// Which machine this is, for comparing with others.
#pragma once

#include <string>

namespace dlaunch {

/// The same text for two processes exactly when they run on one kernel since one boot, in the same
/// network and PID namespaces (namespaces(7)): containers of one machine are different places.
/// Machines that were restored from one image in memory may share it too. Empty: /proc does not
/// tell.
[[nodiscard]] std::string machine_identity();

}  // namespace dlaunch
