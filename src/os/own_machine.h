// What this machine is called and which addresses it has.
#pragma once

#include <string>
#include <vector>

#include "model/network.h"

namespace dlaunch {

/// uname(2), nodename.
[[nodiscard]] std::string own_hostname();

/// Numeric addresses of all interfaces (getifaddrs(3)), as inet_ntop(3) writes them; empty when
/// they cannot be read.
[[nodiscard]] std::vector<std::string> own_addresses();

/// CPUs that a process may run on, ascending (sched_getaffinity(2)); 0 is this process. Empty when
/// they cannot be had.
[[nodiscard]] std::vector<int> allowed_cpus(int pid);

/// Soft limits of this process (getrlimit(2)).
[[nodiscard]] ResourceLimits own_limits();

}  // namespace dlaunch
