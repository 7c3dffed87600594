// What front and engine say to each other: datagrams over a SOCK_SEQPACKET pair. End of file means
// that the other one is gone.
#pragma once

#include <cstdint>
#include <string>

namespace dlaunch {

enum class FrontMessage : char {
  signal = 's',      // front -> engine: one byte, the signal's number
  stdin_data = 'i',  // front -> engine: bytes of the user's stdin
  stdin_end = 'e',   // front -> engine: end of the user's stdin
  stdin_more = 'm',  // engine -> front: one byte; another kStdinChunk bytes are welcome
};

inline constexpr std::size_t kStdinChunk = 16 * 1024;

/// Sends one message; false if the other end is gone. Blocks only for as long as the socket is
/// full.
bool send_front_message(int link, FrontMessage kind, const char* bytes = nullptr,
                        std::size_t size = 0);

}  // namespace dlaunch
