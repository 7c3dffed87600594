#include "os/packet.h"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

namespace dlaunch {

namespace {

constexpr int kQueue = 1024;  // connections not yet accepted

struct Address {
  sockaddr_un socket{};
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&socket); }
};

/// 0 or errno.
int set_path(const std::string& path, Address& address) {
  if (path.size() >= sizeof address.socket.sun_path) return ENAMETOOLONG;
  address.socket.sun_family = AF_UNIX;
  std::memcpy(address.socket.sun_path, path.data(), path.size());
  return 0;
}

}  // namespace

tl::expected<UniqueFd, int> listen_for_packets(const std::string& path) {
  Address address;
  if (const int error = set_path(path, address); error != 0) return tl::unexpected(error);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket || ::bind(socket.get(), address.get(), sizeof address.socket) != 0 ||
      ::listen(socket.get(), kQueue) != 0)
    return tl::unexpected(errno);
  return socket;
}

tl::expected<AbstractListener, int> listen_for_packets() {
  AbstractListener listener;
  listener.socket = UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  Address address;
  address.socket.sun_family = AF_UNIX;
  socklen_t size = sizeof address.socket;
  if (!listener.socket ||
      ::bind(listener.socket.get(), address.get(), sizeof address.socket.sun_family) != 0 ||
      ::listen(listener.socket.get(), kQueue) != 0 ||
      ::getsockname(listener.socket.get(), reinterpret_cast<sockaddr*>(&address.socket), &size) != 0)
    return tl::unexpected(errno);
  constexpr std::size_t kBefore = offsetof(sockaddr_un, sun_path) + 1;
  listener.name.assign(address.socket.sun_path + 1, size - kBefore);
  return listener;
}

tl::expected<UniqueFd, int> connect_packets(const std::string& path) {
  Address address;
  if (const int error = set_path(path, address); error != 0) return tl::unexpected(error);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), address.get(), sizeof address.socket) != 0)
    return tl::unexpected(errno);
  return socket;
}

bool send_packet(int socket, const std::string& text, const std::vector<int>& descriptors) {
  iovec data{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  const std::size_t size = descriptors.size() * sizeof(int);
  std::vector<cmsghdr> control(CMSG_SPACE(size) / sizeof(cmsghdr) + 1);
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(part), descriptors.data(), size);
  }
  ssize_t n = 0;
  do {
    n = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(text.size());
}

std::optional<std::string> receive_packet(int socket, std::size_t most_bytes,
                                          std::size_t most_descriptors,
                                          std::vector<UniqueFd>& descriptors, bool wait) {
  std::string text(most_bytes, '\0');
  iovec data{text.data(), text.size()};
  std::vector<cmsghdr> control(CMSG_SPACE(most_descriptors * sizeof(int)) / sizeof(cmsghdr) + 1);
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(most_descriptors * sizeof(int));
  ssize_t n = 0;
  do {
    n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
  } while (n < 0 && errno == EINTR);
  if (n <= 0) {
    if (n == 0) errno = 0;
    return std::nullopt;
  }
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
  if ((message.msg_flags & MSG_TRUNC) != 0) {
    errno = EMSGSIZE;
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(n));
  return text;
}

void ask_for_senders(int socket) {
  const int on = 1;
  (void)::setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

ssize_t receive_with_sender(int socket, char* bytes, std::size_t size, pid_t& sender) {
  sender = 0;
  iovec data{bytes, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  // There is no room for descriptors beside the credentials: the kernel drops them.
  const ssize_t n = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n <= 0) return n;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) continue;
    ucred who{};
    std::memcpy(&who, CMSG_DATA(part), sizeof who);
    sender = who.pid;
  }
  return n;
}

}  // namespace dlaunch
