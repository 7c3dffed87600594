#include "model/ip_address.h"

#include <arpa/inet.h>

#include "text/number.h"

namespace dlaunch {

std::optional<IpAddress> parse_ip(std::string_view text) {
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos)
    return std::nullopt;
  IpAddress address;
  address.is_ipv6 = text.find(':') != std::string_view::npos;
  const int family = address.is_ipv6 ? AF_INET6 : AF_INET;
  if (::inet_pton(family, std::string(text).c_str(), address.bytes.data()) != 1)
    return std::nullopt;
  return address;
}

std::string ip_text(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = address.is_ipv6 ? AF_INET6 : AF_INET;
  const char* const made = ::inet_ntop(family, address.bytes.data(), text.data(), text.size());
  return made == nullptr ? "" : made;
}

std::string host_and_port(const std::string& host, std::uint16_t port) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

int ip_bits(const IpAddress& address) {
  return address.is_ipv6 ? 128 : 32;
}

bool in_same_network(const IpAddress& a, const IpAddress& b, int prefix) {
  if (a.is_ipv6 != b.is_ipv6 || prefix < 0 || prefix > ip_bits(a)) return false;
  const auto whole = static_cast<std::size_t>(prefix / 8);
  for (std::size_t i = 0; i < whole; ++i) {
    if (a.bytes[i] != b.bytes[i]) return false;
  }
  const int rest = prefix % 8;
  return rest == 0 || (a.bytes[whole] ^ b.bytes[whole]) >> (8 - rest) == 0;
}

bool is_loopback(const IpAddress& address) {
  return address.is_ipv6 ? ip_text(address) == "::1" : address.bytes[0] == 127;
}

bool is_link_local(const IpAddress& address) {
  if (!address.is_ipv6) return address.bytes[0] == 169 && address.bytes[1] == 254;
  return address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80;
}

bool is_unicast(const IpAddress& address) {
  if (address.is_ipv6) return address.bytes[0] != 0xff && ip_text(address) != "::";
  return address.bytes[0] != 0 && address.bytes[0] < 224;
}

std::optional<IpNetwork> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = parse_ip(text.substr(0, slash));
  const std::string_view digits = text.substr(slash + 1);
  const bool has_leading_zero = digits.size() > 1 && digits.front() == '0';
  const auto prefix = count_from<int>(digits);
  if (!address || !prefix || has_leading_zero || *prefix > ip_bits(*address)) return std::nullopt;
  return IpNetwork{*address, *prefix};
}

}  // namespace dlaunch
