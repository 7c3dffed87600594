// Packets with descriptors between processes of ours: unix(7), SOCK_SEQPACKET and SCM_RIGHTS. A
// stream socket (SOCK_STREAM) takes one byte with descriptors by the same functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "model/result.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// A socket that listens at the path, non-blocking. Errors: errno.
[[nodiscard]] tl::expected<UniqueFd, int> listen_for_packets(const std::string& path);
/// Errors: errno.
[[nodiscard]] tl::expected<UniqueFd, int> connect_packets(const std::string& path);

/// Non-blocking; false, with errno: it was not sent.
bool send_packet(int socket, const std::string& text, const std::vector<int>& descriptors = {});

/// One packet; its descriptors, at most `most_descriptors`, are appended. nullopt: with errno, or 0
/// at the end of the connection; a packet longer than `most_bytes` is EMSGSIZE. `wait`: for it.
[[nodiscard]] std::optional<std::string> receive_packet(int socket, std::size_t most_bytes,
                                                        std::size_t most_descriptors,
                                                        std::vector<UniqueFd>& descriptors,
                                                        bool wait);

}  // namespace dlaunch
