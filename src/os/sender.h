// Who has written what comes out of a unix socket (unix(7), SO_PASSCRED): the kernel says it of
// each piece, also where the socket pair was made by somebody else than the writer.
#pragma once

#include <cstddef>

#include <sys/types.h>

namespace dlaunch {

/// From now on, pieces that come to this end have a sender.
void ask_for_senders(int socket);

/// As recv(2) with MSG_DONTWAIT. `sender`: the writer's pid as we see it; 0: it is not known.
[[nodiscard]] ssize_t receive_with_sender(int socket, char* bytes, std::size_t size, pid_t& sender);

}  // namespace dlaunch
