// TCP ports for a rendezvous: found and held until the process that will listen on them starts. A
// held port is a bound socket that does not listen and has no SO_REUSEADDR, so no other process can
// bind it or connect to it (ip(7), socket(7)). Thread-safety: free functions without state.
#pragma once

#include <cstdint>
#include <string>

#include "model/cluster.h"
#include "model/result.h"

namespace dlaunch {

/// Owns the socket, which is close-on-exec so that no child holds the port by accident.
class ReservedPort {
 public:
  ReservedPort(int socket, std::uint16_t number) : socket_(socket), number_(number) {}
  ReservedPort(ReservedPort&& other) noexcept;
  ReservedPort& operator=(ReservedPort&& other) noexcept;
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;
  ~ReservedPort() { release(); }

  [[nodiscard]] std::uint16_t number() const { return number_; }
  [[nodiscard]] bool held() const { return socket_ >= 0; }
  /// Still owned by this object; -1 if it is not held.
  [[nodiscard]] int socket() const { return socket_; }
  /// From now on any process may bind the port; leaves no TIME_WAIT. Async-signal-safe.
  void release();

 private:
  int socket_;
  std::uint16_t number_;
};

/// A free port outside ip_local_port_range, from which the kernel takes ports of outgoing
/// connections, and outside ip_local_reserved_ports (ip(7), kernel's ip-sysctl.rst). Searches from
/// a random start in 20000..32767, then elsewhere from 1024; inside ip_local_port_range only if
/// nothing else is free.
[[nodiscard]] Result<ReservedPort> reserve_free_port();

/// Reserves this port, which must not be 0, or says who holds it. Closed connections (TIME_WAIT) do
/// not count.
[[nodiscard]] tl::expected<ReservedPort, TakenPort> reserve_port(std::uint16_t port);

/// "pid 8812 (python train.py, user eve)": the process with a socket on this local port, preferably
/// a listening one. "a process of user eve" if this user may not see which. Empty if unknown, as
/// for a process in another network or PID namespace and for a socket that is bound but does not
/// listen.
[[nodiscard]] std::string port_holder(std::uint16_t port);

}  // namespace dlaunch
