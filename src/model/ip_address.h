// IPv4 and IPv6 addresses as values: read, written and compared without the resolver and without a
// socket. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch {

struct IpAddress {
  bool is_ipv6 = false;
  std::array<std::uint8_t, 16> bytes{};  // network order; IPv4: the first four, the others 0
  bool operator==(const IpAddress&) const = default;
};

/// inet_pton(3): "10.0.0.4" in four decimal numbers, or IPv6 as in RFC 4291, 2.2; no brackets, no
/// scope ("%eth0"), no port. nullopt for anything else, such as a host name.
[[nodiscard]] std::optional<IpAddress> parse_ip(std::string_view text);

/// inet_ntop(3): IPv6 as in RFC 5952, in lower case with the longest run of zeros as "::".
[[nodiscard]] std::string ip_text(const IpAddress& address);

/// "host:port"; an IPv6 address needs brackets before a port (RFC 3986, 3.2.2).
[[nodiscard]] std::string host_and_port(const std::string& host, std::uint16_t port);

/// Bits in an address: 32 or 128.
[[nodiscard]] int ip_bits(const IpAddress& address);

/// Whether both are of the same family and have the same first `prefix` bits. False for a prefix
/// outside the family's range.
[[nodiscard]] bool in_same_network(const IpAddress& a, const IpAddress& b, int prefix);

/// 127.0.0.0/8, ::1.
[[nodiscard]] bool is_loopback(const IpAddress& address);
/// 169.254.0.0/16 (RFC 3927), fe80::/10 (RFC 4291, 2.5.6).
[[nodiscard]] bool is_link_local(const IpAddress& address);
/// An address that a host can have: neither 0.0.0.0/8 or ::, nor multicast, nor 240.0.0.0/4.
[[nodiscard]] bool is_unicast(const IpAddress& address);

/// "10.0.0.0/8", "fd00::/16".
struct IpNetwork {
  IpAddress address;
  int prefix = 0;
  bool operator==(const IpNetwork&) const = default;
};
[[nodiscard]] std::optional<IpNetwork> parse_network(std::string_view text);

}  // namespace dlaunch
