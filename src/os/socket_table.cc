#include "os/socket_table.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "os/proc_file.h"
#include "os/unique_fd.h"
#include "text/number.h"

namespace dlaunch {

namespace {

// The kernel lists listening sockets first (tcp_get_idx, net/ipv4/tcp_ipv4.c), 150 bytes each, so
// the connections, perhaps a hundred thousand, need not be read.
constexpr std::size_t kListeners = std::size_t{1} << 20;

// ---- sock_diag(7)

bool ask_for_listeners(int netlink, int family) {
  struct {
    nlmsghdr head;
    inet_diag_req_v2 question;
  } message{};
  message.head.nlmsg_len = sizeof message;
  message.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  message.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  message.question.sdiag_family = static_cast<std::uint8_t>(family);
  message.question.sdiag_protocol = IPPROTO_TCP;
  message.question.idiag_states = 1U << TCP_LISTEN;
  return ::send(netlink, &message, sizeof message, MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof message);
}

/// Adds what a datagram of the answer holds. True: it was the last one; nullopt: an error.
std::optional<bool> add_listeners(std::string_view datagram, std::vector<SocketOwner>& found) {
  while (datagram.size() >= sizeof(nlmsghdr)) {
    nlmsghdr head;
    std::memcpy(&head, datagram.data(), sizeof head);
    if (head.nlmsg_type == NLMSG_DONE) return true;
    inet_diag_msg socket;
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || head.nlmsg_len > datagram.size() ||
        head.nlmsg_len < NLMSG_LENGTH(sizeof socket))
      return std::nullopt;
    std::memcpy(&socket, datagram.data() + NLMSG_HDRLEN, sizeof socket);
    found.push_back({socket.idiag_inode, socket.idiag_uid, ntohs(socket.id.idiag_sport), true});
    datagram.remove_prefix(std::min<std::size_t>(datagram.size(), NLMSG_ALIGN(head.nlmsg_len)));
  }
  return false;
}

std::optional<std::vector<SocketOwner>> listeners_by_netlink() {
  std::vector<SocketOwner> found;
  for (const int family : {AF_INET, AF_INET6}) {
    const UniqueFd netlink(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!netlink || !ask_for_listeners(netlink.get(), family)) return std::nullopt;
    for (bool last = false; !last;) {
      std::array<char, 32768> datagram;  // the most that the kernel fills (netlink_dump)
      // The kernel makes the next part of a dump before it hands one out, so a read never has to
      // wait.
      const ssize_t size =
          ::recv(netlink.get(), datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_TRUNC);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0 || static_cast<std::size_t>(size) > datagram.size()) return std::nullopt;
      const auto added = add_listeners({datagram.data(), static_cast<std::size_t>(size)}, found);
      if (!added) return std::nullopt;
      last = *added;
    }
  }
  return found;
}

// ---- /proc/net/tcp

/// The first N words of a line.
template <std::size_t N>
std::array<std::string_view, N> words_of(std::string_view line) {
  std::array<std::string_view, N> words;
  for (std::size_t i = 0; i < N && !line.empty();) {
    const std::string_view word = take_until(line, ' ');
    if (!word.empty()) words[i++] = word;
  }
  return words;
}

/// A line of /proc/net/tcp:
/// "0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 1000 0 12345 ...".
std::optional<SocketOwner> socket_in(std::string_view line) {
  constexpr std::string_view kListen = "0A";  // TCP_LISTEN, include/net/tcp_states.h
  const auto words = words_of<10>(line);
  const std::size_t colon = words[1].rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = number_of<std::uint16_t>(words[1].substr(colon + 1), 16);
  const auto user = number_of<std::uint32_t>(words[7]);
  const auto inode = number_of<std::uint64_t>(words[9]);
  // Inode 0: its process has closed it, the kernel finishes the connection.
  if (!port || !user || !inode || *inode == 0) return std::nullopt;
  return SocketOwner{*inode, *user, *port, words[3] == kListen};
}

template <class Wanted>
std::vector<SocketOwner> sockets(std::size_t limit, const Wanted& wanted) {
  std::vector<SocketOwner> found;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const std::string text = read_proc_file(table, limit);
    for (std::string_view rest = text; !rest.empty();) {
      const auto socket = socket_in(take_until(rest, '\n'));
      if (socket && wanted(*socket)) found.push_back(*socket);
    }
  }
  return found;
}

}  // namespace

std::vector<SocketOwner> listening_sockets() {
  if (auto found = listeners_by_netlink()) return std::move(*found);
  return sockets(kListeners, [](const SocketOwner& socket) { return socket.listens; });
}

std::vector<SocketOwner> sockets_on(std::uint16_t port) {
  return sockets(std::string::npos,
                 [port](const SocketOwner& socket) { return socket.port == port; });
}

}  // namespace dlaunch
