// Ancillary data of unix sockets (unix(7)): packets (SOCK_SEQPACKET) with descriptors (SCM_RIGHTS),
// and the sender's pid (SO_PASSCRED). Descriptors travel over a stream socket the same way, with
// one byte of data.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "model/result.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// A non-blocking socket that listens at the path. Errors: errno.
[[nodiscard]] tl::expected<UniqueFd, int> listen_for_packets(const std::string& path);
/// A listener with an abstract name that the kernel chooses (unix(7), "Autobind feature"); here the
/// name is without its leading null byte. Such a name has no permissions: check who connects
/// (os/acceptor.h).
struct AbstractListener {
  UniqueFd socket;
  std::string name;
};
[[nodiscard]] tl::expected<AbstractListener, int> listen_for_packets();
/// Errors: errno.
[[nodiscard]] tl::expected<UniqueFd, int> connect_packets(const std::string& path);

/// Non-blocking; false, with errno: it was not sent.
bool send_packet(int socket, const std::string& text, const std::vector<int>& descriptors = {});

/// Receives one packet and appends its descriptors, at most `most_descriptors`. nullopt: an error
/// in errno, which is 0 at the end of the connection and EMSGSIZE for a packet longer than
/// `most_bytes`. `wait`: blocks until one arrives.
[[nodiscard]] std::optional<std::string> receive_packet(int socket, std::size_t most_bytes,
                                                        std::size_t most_descriptors,
                                                        std::vector<UniqueFd>& descriptors,
                                                        bool wait);

/// From now on receive_with_sender() knows the writer of the data that arrives at this end, even if
/// another process made the socket pair.
void ask_for_senders(int socket);

/// recv(2) with MSG_DONTWAIT. `sender`: pid of the writer in our PID namespace; 0: unknown.
[[nodiscard]] ssize_t receive_with_sender(int socket, char* bytes, std::size_t size, pid_t& sender);

}  // namespace dlaunch
