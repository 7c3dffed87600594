#include "launch/terminals/terminal_link.h"

#include <array>

#include <sys/socket.h>
#include <sys/uio.h>

#include "wire/value.h"

namespace dlaunch {

std::string encode(const TerminalRequest& request) {
  return request.build_id + '\n' + wire::encode_value(request.open);
}

std::optional<TerminalRequest> decode_terminal_request(std::string_view body) {
  const std::size_t end = body.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  auto open = wire::decode_value<wire::OpenTerminal>(body.substr(end + 1));
  if (!open) return std::nullopt;
  return TerminalRequest{std::string(body.substr(0, end)), *std::move(open)};
}

bool send_terminal_packet(int socket, TerminalPacket kind, std::string_view body) {
  char head = static_cast<char>(kind);
  std::array<iovec, 2> pieces{iovec{&head, 1}, iovec{const_cast<char*>(body.data()), body.size()}};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

}  // namespace dlaunch
