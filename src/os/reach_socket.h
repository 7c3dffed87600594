// TCP sockets for the reach check, and for connections between nodes that stage files. All are
// non-blocking and close-on-exec. Thread-safety: free functions without state.
#pragma once

#include <cstdint>
#include <string>

#include "os/ports.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Listens on a held port at one address of this machine. The port stays held: no other process can
/// bind it, not even after this socket is closed. Error: errno.
[[nodiscard]] tl::expected<UniqueFd, int> listen_beside(ReservedPort& held,
                                                        const std::string& address);

/// The held socket itself listens, at all addresses. Nothing else can listen on the port then, so
/// sockets of listen_beside() must come first or not at all. Error: errno.
[[nodiscard]] tl::expected<UniqueFd, int> listen_everywhere(ReservedPort& held);
/// The port stays held and refuses connections again.
void stop_listening(ReservedPort& held);

/// Listens at one address of this machine, on a free port that the kernel chooses. Error: errno.
[[nodiscard]] tl::expected<UniqueFd, int> listen_at(const std::string& address);
/// The local port's number; 0: the socket has none.
[[nodiscard]] std::uint16_t local_port_of(int socket);

/// The bytes of a sockaddr_in or sockaddr_in6; empty: `address` is not an IP address.
[[nodiscard]] std::string raw_address(const std::string& address, std::uint16_t port);

/// Begins to connect; the socket is writable when it is connected or has failed. Error: errno.
[[nodiscard]] tl::expected<UniqueFd, int> begin_connect(const std::string& address,
                                                        std::uint16_t port);
/// The result of begin_connect(): 0 or errno.
[[nodiscard]] int connect_error(int socket);

/// An end's address as ip_text() writes it, IPv4 without "::ffff:"; empty if there is none.
[[nodiscard]] std::string local_address_of(int socket);
[[nodiscard]] std::string peer_address_of(int socket);

/// close(2) will reset the connection instead of leaving it in TIME_WAIT here.
void reset_on_close(int socket);

}  // namespace dlaunch
