#include "os/reach_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "model/ip_address.h"

namespace dlaunch {

namespace {

// The kernel limits it to net.core.somaxconn; a client that finds the queue full retries after a
// second.
constexpr int kBacklog = 4096;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

std::optional<SocketAddress> socket_address(const std::string& text, std::uint16_t port) {
  const auto ip = parse_ip(text);
  if (!ip) return std::nullopt;
  SocketAddress address;
  if (ip->is_ipv6) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, ip->bytes.data(), 16);
    std::memcpy(&address.storage, &v6, sizeof v6);
    address.size = sizeof v6;
  } else {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, ip->bytes.data(), 4);
    std::memcpy(&address.storage, &v4, sizeof v4);
    address.size = sizeof v4;
  }
  return address;
}

UniqueFd open_socket(int family) {
  return UniqueFd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void set_flag(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

tl::expected<UniqueFd, int> listen_beside(ReservedPort& held, const std::string& address) {
  const auto where = socket_address(address, held.number());
  if (!where) return tl::unexpected(EINVAL);
  UniqueFd fd = open_socket(where->storage.ss_family);
  if (!fd) return tl::unexpected(errno);
  set_flag(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (where->storage.ss_family == AF_INET6) set_flag(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  // Two sockets may share a port while both allow it and neither listens (socket(7)). The held one
  // allows it only for this moment.
  set_flag(held.socket(), SOL_SOCKET, SO_REUSEADDR, 1);
  const bool listens = ::bind(fd.get(), where->get(), where->size) == 0 &&
                       ::listen(fd.get(), kBacklog) == 0;  // which checks the port again
  const int error = listens ? 0 : errno;
  set_flag(held.socket(), SOL_SOCKET, SO_REUSEADDR, 0);
  if (error != 0) return tl::unexpected(error);
  return fd;
}

tl::expected<UniqueFd, int> listen_everywhere(ReservedPort& held) {
  UniqueFd fd = duplicate(held.socket());
  if (!fd) return tl::unexpected(errno);
  if (::listen(fd.get(), kBacklog) != 0) return tl::unexpected(errno);
  return fd;
}

tl::expected<UniqueFd, int> listen_at(const std::string& address) {
  const auto where = socket_address(address, 0);
  if (!where) return tl::unexpected(EINVAL);
  UniqueFd fd = open_socket(where->storage.ss_family);
  if (!fd) return tl::unexpected(errno);
  if (::bind(fd.get(), where->get(), where->size) != 0 || ::listen(fd.get(), kBacklog) != 0)
    return tl::unexpected(errno);
  return fd;
}

std::uint16_t local_port_of(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &storage, sizeof v4);
    return ntohs(v4.sin_port);
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &storage, sizeof v6);
  return storage.ss_family == AF_INET6 ? ntohs(v6.sin6_port) : 0;
}

void stop_listening(ReservedPort& held) {
  // A socket that was bound by number stays bound (Linux, tcp_disconnect() and SOCK_BINDPORT_LOCK).
  if (held.held()) ::shutdown(held.socket(), SHUT_RDWR);
}

std::string raw_address(const std::string& address, std::uint16_t port) {
  const auto where = socket_address(address, port);
  return where ? std::string(reinterpret_cast<const char*>(&where->storage), where->size) : "";
}

tl::expected<UniqueFd, int> begin_connect(const std::string& address, std::uint16_t port) {
  const auto where = socket_address(address, port);
  if (!where) return tl::unexpected(EINVAL);
  UniqueFd fd = open_socket(where->storage.ss_family);
  if (!fd) return tl::unexpected(errno);
  set_flag(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  if (::connect(fd.get(), where->get(), where->size) != 0 && errno != EINPROGRESS)
    return tl::unexpected(errno);
  return fd;
}

int connect_error(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

namespace {

using GetName = int (*)(int, sockaddr*, socklen_t*);

std::string address_of(int socket, GetName name) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (name(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  IpAddress address;
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &storage, sizeof v6);
    address.is_ipv6 = !IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
    const std::size_t skip = address.is_ipv6 ? 0 : 12;
    std::memcpy(address.bytes.data(), v6.sin6_addr.s6_addr + skip, 16 - skip);
  } else if (storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &storage, sizeof v4);
    std::memcpy(address.bytes.data(), &v4.sin_addr, 4);
  } else {
    return {};
  }
  return ip_text(address);
}

}  // namespace

std::string local_address_of(int socket) {
  return address_of(socket, &::getsockname);
}

std::string peer_address_of(int socket) {
  return address_of(socket, &::getpeername);
}

void reset_on_close(int socket) {
  const linger now{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

}  // namespace dlaunch
