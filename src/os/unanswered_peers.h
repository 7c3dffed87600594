// Peers of TCP connections that do not answer: what the kernel has sent them again and again. Reads
// only /proc.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace dlaunch {

/// By the inode of the socket, the address of each peer that has acknowledged neither what was sent
/// nor the wish to connect, although it was sent again. `table`: /proc/net/tcp or tcp6 (proc(5)).
/// Pure.
[[nodiscard]] std::map<std::uint64_t, std::string> unanswered_in(std::string_view table);

/// Reads the tables of each network namespace once, since that walks over all connections there.
class UnansweredPeers {
 public:
  /// The addresses of such peers of a process. A peer that is stopped answers: its kernel does.
  /// Empty also if /proc does not tell.
  [[nodiscard]] std::set<std::string> of(pid_t process);

 private:
  std::map<std::string, std::map<std::uint64_t, std::string>> by_namespace_;
};

}  // namespace dlaunch
