// Who has a TCP port, from /proc/net/tcp and /proc/<pid>/fd (proc(5)).
#pragma once

#include <cstdint>

namespace dlaunch {

/// True if a process has a socket on this local port. Connections that nobody holds any more
/// (TIME_WAIT, the last FIN) are not counted; neither are sockets that are bound and neither listen
/// nor are connected, of which the kernel does not tell.
[[nodiscard]] bool has_live_socket(std::uint16_t port);

}  // namespace dlaunch
