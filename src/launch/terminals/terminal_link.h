// The messages between `dlaunch attach` and the engine of a run: packets over a unix socket of the
// run folder (launch/questions/run_socket.h), each one byte for its kind and then its body. End of
// file means that the other side is gone.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "wire/message.h"

namespace dlaunch {

inline constexpr const char* kTerminalSocket = "terminals.sock";

enum class TerminalPacket : char {
  open = 'o',    // client -> engine, the first one: TerminalRequest
  input = 'i',   // client -> engine: what was typed; empty: end of input
  resize = 'r',  // client -> engine: wire::ResizeTerminal
  runs = 's',    // engine -> client: the command runs; the name of its node
  out = 'd',     // engine -> client: its output
  err = 'e',     // engine -> client: its stderr, if it has no terminal
  ended = 'x',   // engine -> client, the last one: wire::TerminalEnded
};

/// Bytes of input or output in one packet.
inline constexpr std::size_t kTerminalPiece = std::size_t{16} << 10;
/// The largest packet, a request with its command.
inline constexpr std::size_t kMostTerminalPacket = std::size_t{96} << 10;

struct TerminalRequest {
  std::string build_id;  // client and engine must be the same program
  wire::OpenTerminal open;
};
[[nodiscard]] std::string encode(const TerminalRequest& request);
/// nullopt: `body` is not a request, or one of another version.
[[nodiscard]] std::optional<TerminalRequest> decode_terminal_request(std::string_view body);

/// Non-blocking. False, with errno: it was not sent.
bool send_terminal_packet(int socket, TerminalPacket kind, std::string_view body);

}  // namespace dlaunch
