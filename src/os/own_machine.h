// What identifies this machine, its addresses, and what this process may use of it.
#pragma once

#include <string>
#include <vector>

#include "model/network.h"
#include "model/result.h"

namespace dlaunch {

/// uname(2), nodename.
[[nodiscard]] std::string own_hostname();

/// Random number of this boot of the kernel (random(4)): the same in every container of a machine,
/// different on every other machine. Empty if unknown.
[[nodiscard]] std::string boot_id();

/// Equal for two processes if and only if they run on the same kernel, since the same boot, in the
/// same network and PID namespaces (namespaces(7)). Machines restored from one memory image may
/// share it. Empty if /proc does not say.
[[nodiscard]] std::string machine_identity();

/// Numeric addresses of all interfaces (getifaddrs(3)), as inet_ntop(3) writes them; empty if they
/// cannot be read.
[[nodiscard]] std::vector<std::string> own_addresses();

/// CPUs that a process may run on, ascending (sched_getaffinity(2)); 0 is this process. Empty on
/// error.
[[nodiscard]] std::vector<int> allowed_cpus(int pid);

/// The current folder's absolute path. Errors: kUsage, for example if the folder has been removed.
[[nodiscard]] Result<std::string> current_folder();

/// Soft limits of this process (getrlimit(2)).
[[nodiscard]] ResourceLimits own_limits();

}  // namespace dlaunch
