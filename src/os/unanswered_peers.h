// Peers of TCP connections that do not answer although the kernel has repeated what it sent them.
// Reads only /proc.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace dlaunch {

/// The address of each peer that has not acknowledged data or a connection request although it was
/// resent at least twice, by the inode of the socket. `table`: /proc/net/tcp or tcp6 (proc(5)).
/// Pure.
[[nodiscard]] std::map<std::uint64_t, std::string> unanswered_in(std::string_view table);

/// Reads the tables of each network namespace once, since reading walks over all connections there.
class UnansweredPeers {
 public:
  /// The addresses of such peers of a process. A stopped peer process counts as answering, because
  /// its kernel answers. Also empty if /proc does not say.
  [[nodiscard]] std::set<std::string> of(pid_t process);

 private:
  std::map<std::string, std::map<std::uint64_t, std::string>> by_namespace_;
};

}  // namespace dlaunch
