// Which process holds a TCP port, from /proc/net/tcp and /proc/<pid>/fd (proc(5)).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "model/time.h"

namespace dlaunch {

/// Whether a process has a socket on this local port. Not counted: connections without a process
/// (TIME_WAIT, the last FIN), and sockets that are bound but neither listen nor are connected,
/// which the kernel does not list.
[[nodiscard]] bool has_live_socket(std::uint16_t port);

/// One of these local ports on which some process listens, but none of `own`. A process of another
/// user, whose descriptors we may not read, counts as foreign. Reads the table of sockets once, and
/// the descriptors of `own` only if there is a listener. Also nullopt if reading has not finished
/// by `deadline`.
[[nodiscard]] std::optional<std::uint16_t> find_foreign_listener(
    const std::vector<std::uint16_t>& ports, const std::function<std::vector<pid_t>()>& own,
    MonotonicTime deadline);

/// Like port_holder(port) of os/ports.h; names only the user if the process is not found by
/// `deadline`.
[[nodiscard]] std::string port_holder(std::uint16_t port, MonotonicTime deadline);

}  // namespace dlaunch
