// Who has a TCP port, from /proc/net/tcp and /proc/<pid>/fd (proc(5)).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "model/time.h"

namespace dlaunch {

/// True if a process has a socket on this local port. Connections that nobody holds any more
/// (TIME_WAIT, the last FIN) are not counted; neither are sockets that are bound and neither listen
/// nor are connected, of which the kernel does not tell.
[[nodiscard]] bool has_live_socket(std::uint16_t port);

/// One of these local ports on which somebody listens and none of the processes `own` does.
/// A process of another user, of which nobody but the kernel knows the descriptors, counts as
/// somebody else. Reads the table of sockets once; the descriptors of `own`, also once, only if
/// there is a listener at all. nullopt as well if that was not finished at `deadline`.
[[nodiscard]] std::optional<std::uint16_t> find_foreign_listener(
    const std::vector<std::uint16_t>& ports, const std::function<std::vector<pid_t>()>& own,
    MonotonicTime deadline);

/// As port_holder(port) of os/ports.h. Of a process that is not found until `deadline` it tells the
/// user.
[[nodiscard]] std::string port_holder(std::uint16_t port, MonotonicTime deadline);

}  // namespace dlaunch
