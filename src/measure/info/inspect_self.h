// Finds out what dlaunch can use on this machine.
#pragma once

#include "measure/info/self_check.h"

namespace dlaunch {

/// Reads /proc and /sys, looks programs up in PATH, makes a namespace and a cgroup for a moment,
/// and tries the libraries, which may take up to 20 s if they hang. Starts nothing else and changes
/// nothing. Call only from the main thread, before there are other threads.
[[nodiscard]] SelfCheckFacts inspect_self();

}  // namespace dlaunch
