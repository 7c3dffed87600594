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

/// All listening sockets, over sock_diag(7): a fraction of a millisecond. If that is not offered,
/// as in some sandboxes, reads /proc/net/tcp (proc(5)): this walks the whole hash table of
/// connections, which grows with the machine's memory: 10 ms and more, however few there are.
[[nodiscard]] std::vector<SocketOwner> listening_sockets();

/// All sockets that a process has on this local port, from /proc/net/tcp.
[[nodiscard]] std::vector<SocketOwner> sockets_on(std::uint16_t port);

}  // namespace dlaunch
