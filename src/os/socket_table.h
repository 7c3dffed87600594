// The kernel's table of TCP sockets in this network namespace. Thread-safety: free functions
// without state.
#pragma once

#include <cstdint>
#include <vector>

namespace dlaunch {

struct SocketOwner {
  std::uint64_t inode = 0;
  std::uint32_t user = 0;
  std::uint16_t port = 0;  // the local one
  bool listens = false;
};

/// All listening sockets, over sock_diag(7): a fraction of a millisecond. If sock_diag is not
/// available, as in some sandboxes, reads /proc/net/tcp (proc(5)), which takes 10 ms and more
/// however few sockets there are: it walks the whole hash table of connections, whose size grows
/// with the machine's memory.
[[nodiscard]] std::vector<SocketOwner> listening_sockets();

/// All sockets that a process has on this local port, from /proc/net/tcp.
[[nodiscard]] std::vector<SocketOwner> sockets_on(std::uint16_t port);

}  // namespace dlaunch
