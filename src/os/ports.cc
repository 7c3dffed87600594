#include "os/ports.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "os/port_holder.h"
#include "os/proc_file.h"
#include "os/random.h"

namespace dlaunch {

namespace {

constexpr std::uint32_t kFirstUnprivileged = 1024;
constexpr std::uint32_t kPreferredFirst = 20000;
constexpr std::uint32_t kPreferredLast = 32767;
constexpr std::uint32_t kLast = 65535;

struct Bound {
  int socket = -1;
  int error = 0;  // errno when there is no socket
};

Bound bind_any(int family, std::uint16_t port, bool reuse) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return {-1, errno};
  const int on = 1;
  const int off = 0;
  if (reuse) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  int result = 0;
  if (family == AF_INET6) {
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    address.sin6_addr = in6addr_any;
    result = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    result = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  if (result == 0) {
    if (reuse) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &off, sizeof(off));
    return {fd, 0};
  }
  const int error = errno;
  ::close(fd);
  return {-1, error};
}

/// Binds both families at once, or IPv4 if there is no IPv6.
Bound bind_port(std::uint16_t port, bool reuse = false) {
  const Bound both = bind_any(AF_INET6, port, reuse);
  if (both.error == EAFNOSUPPORT || both.error == EADDRNOTAVAIL || both.error == EPROTONOSUPPORT) {
    return bind_any(AF_INET, port, reuse);
  }
  return both;
}

struct PortRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// The numbers and ranges in "32768\t60999" or "8080,9148,30000-30010"; ignores everything else.
std::vector<PortRange> parse_ranges(std::string_view text) {
  std::vector<PortRange> ranges;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    PortRange range;
    auto parsed = std::from_chars(at, end, range.first);
    if (parsed.ec != std::errc()) {
      ++at;
      continue;
    }
    at = parsed.ptr;
    range.last = range.first;
    if (at != end && *at == '-') {
      parsed = std::from_chars(at + 1, end, range.last);
      at = parsed.ec == std::errc() ? parsed.ptr : end;
    }
    ranges.push_back(range);
  }
  return ranges;
}

/// Ports that other programs are going to use.
std::vector<PortRange> reserved_ports(bool with_local_range) {
  std::vector<PortRange> ranges =
      parse_ranges(read_proc_file("/proc/sys/net/ipv4/ip_local_reserved_ports"));
  if (with_local_range) {
    const auto bounds = parse_ranges(read_proc_file("/proc/sys/net/ipv4/ip_local_port_range"));
    // 32768..60999 is the kernel's default.
    ranges.push_back(bounds.size() == 2 ? PortRange{bounds[0].first, bounds[1].first}
                                        : PortRange{32768, 60999});
  }
  return ranges;
}

bool is_in(const std::vector<PortRange>& ranges, std::uint32_t port) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const PortRange& range) {
    return port >= range.first && port <= range.last;
  });
}

/// Tries every port of the range once, starting at a random one.
Bound bind_one_of(PortRange range, const std::vector<PortRange>& reserved, std::uint16_t& found) {
  const auto random = static_cast<std::uint32_t>(random_number());
  const std::uint32_t size = range.last - range.first + 1;
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint32_t port = range.first + (random % size + i) % size;
    if (is_in(reserved, port)) continue;
    const Bound bound = bind_port(static_cast<std::uint16_t>(port));
    found = static_cast<std::uint16_t>(port);
    if (bound.error != EADDRINUSE && bound.error != EACCES) return bound;
  }
  return {-1, EADDRINUSE};
}

}  // namespace

ReservedPort::ReservedPort(ReservedPort&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), number_(other.number_) {}

ReservedPort& ReservedPort::operator=(ReservedPort&& other) noexcept {
  if (this != &other) {
    release();
    socket_ = std::exchange(other.socket_, -1);
    number_ = other.number_;
  }
  return *this;
}

void ReservedPort::release() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

Result<ReservedPort> reserve_free_port() {
  for (const bool outside_local_range : {true, false}) {
    const std::vector<PortRange> reserved = reserved_ports(outside_local_range);
    for (const PortRange range :
         {PortRange{kPreferredFirst, kPreferredLast}, PortRange{kPreferredLast + 1, kLast},
          PortRange{kFirstUnprivileged, kPreferredFirst - 1}}) {
      std::uint16_t port = 0;
      const Bound bound = bind_one_of(range, reserved, port);
      if (bound.socket >= 0) return ReservedPort(bound.socket, port);
      if (bound.error != EADDRINUSE) {
        return fail_errno(exit_code::kInternal, "looking for a free TCP port", bound.error);
      }
    }
  }
  return fail(exit_code::kInternal, "no TCP port from 1024 on is free");
}

tl::expected<ReservedPort, TakenPort> reserve_port(std::uint16_t port) {
  Bound bound = bind_port(port);
  if (bound.error == EADDRINUSE && !has_live_socket(port)) {
    // Probably TIME_WAIT of the last run. The program that will listen sets SO_REUSEADDR, as
    // servers do.
    bound = bind_port(port, true);
  }
  if (bound.socket >= 0) return ReservedPort(bound.socket, port);
  if (bound.error == EADDRINUSE) return tl::unexpected(TakenPort{port, port_holder(port)});
  return tl::unexpected(
      TakenPort{port, "no process, but it cannot be bound: " + errno_text(bound.error)});
}

}  // namespace dlaunch
