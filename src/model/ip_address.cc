#include "model/ip_address.h"

#include <charconv>
#include <vector>

namespace dlaunch {

namespace {

using Groups = std::vector<std::uint16_t>;

constexpr std::size_t kGroups = 8;

/// A whole number of `text` and nothing else; decimal without leading zeros, as some readers take
/// "010" for octal (RFC 6943, 3.1.1).
std::optional<std::uint32_t> number(std::string_view text, int base, std::size_t most_digits,
                                    std::uint32_t max) {
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || text.size() > most_digits) return std::nullopt;
  if (base == 10 && text.size() > 1 && text.front() == '0') return std::nullopt;
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop != end || value > max) return std::nullopt;
  return value;
}

std::optional<IpAddress> parse_ipv4(std::string_view text) {
  IpAddress address;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t dot = text.find('.');
    if ((dot == std::string_view::npos) != (i == 3)) return std::nullopt;
    const auto byte = number(text.substr(0, dot), 10, 3, 255);
    if (!byte) return std::nullopt;
    address.bytes[i] = static_cast<std::uint8_t>(*byte);
    text.remove_prefix(i == 3 ? text.size() : dot + 1);
  }
  return address;
}

/// "a:b:c", where the last may be an IPv4 address; empty text has no groups.
std::optional<Groups> parse_groups(std::string_view text) {
  Groups groups;
  while (!text.empty()) {
    const std::size_t colon = text.find(':');
    const std::string_view part = text.substr(0, colon);
    if (colon == std::string_view::npos && part.find('.') != std::string_view::npos) {
      const auto v4 = parse_ipv4(part);
      if (!v4) return std::nullopt;
      for (const std::size_t i : {0U, 2U})
        groups.push_back(static_cast<std::uint16_t>(v4->bytes[i] << 8 | v4->bytes[i + 1]));
      return groups;
    }
    const auto group = number(part, 16, 4, 0xffff);
    if (!group || groups.size() > kGroups) return std::nullopt;
    groups.push_back(static_cast<std::uint16_t>(*group));
    if (colon == std::string_view::npos) break;
    text.remove_prefix(colon + 1);
    if (text.empty()) return std::nullopt;  // it ends with a colon
  }
  return groups;
}

std::optional<IpAddress> parse_ipv6(std::string_view text) {
  const std::size_t gap = text.find("::");
  Groups groups;
  if (gap == std::string_view::npos) {
    auto all = parse_groups(text);
    if (!all || all->size() != kGroups) return std::nullopt;
    groups = std::move(*all);
  } else {
    const std::string_view before = text.substr(0, gap);
    // Embedded IPv4 belongs to the end.
    if (before.find('.') != std::string_view::npos) return std::nullopt;
    auto head = parse_groups(before);
    const auto tail = parse_groups(text.substr(gap + 2));
    if (!head || !tail || head->size() + tail->size() >= kGroups) return std::nullopt;
    groups = std::move(*head);
    groups.resize(kGroups - tail->size());
    groups.insert(groups.end(), tail->begin(), tail->end());
  }
  IpAddress address;
  address.is_ipv6 = true;
  for (std::size_t i = 0; i < kGroups; ++i) {
    address.bytes[2 * i] = static_cast<std::uint8_t>(groups[i] >> 8);
    address.bytes[2 * i + 1] = static_cast<std::uint8_t>(groups[i] & 0xff);
  }
  return address;
}

std::uint32_t group_of(const IpAddress& address, std::size_t i) {
  return static_cast<std::uint32_t>(address.bytes[2 * i]) << 8 | address.bytes[2 * i + 1];
}

/// First and length of the longest run of zero groups, of at least two (RFC 5952, 4.2).
std::pair<std::size_t, std::size_t> longest_zeros(const IpAddress& address) {
  std::pair<std::size_t, std::size_t> best{kGroups, 1};
  for (std::size_t i = 0; i < kGroups; ++i) {
    std::size_t end = i;
    while (end < kGroups && group_of(address, end) == 0) ++end;
    if (end - i > best.second) best = {i, end - i};
  }
  return best;
}

}  // namespace

std::optional<IpAddress> parse_ip(std::string_view text) {
  return text.find(':') == std::string_view::npos ? parse_ipv4(text) : parse_ipv6(text);
}

std::string ip_text(const IpAddress& address) {
  std::string text;
  if (!address.is_ipv6) {
    for (std::size_t i = 0; i < 4; ++i)
      text += (i == 0 ? "" : ".") + std::to_string(address.bytes[i]);
    return text;
  }
  const auto [gap, length] = longest_zeros(address);
  for (std::size_t i = 0; i < kGroups; ++i) {
    if (i == gap) {
      text += "::";
      i += length - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    std::array<char, 4> digits;
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), group_of(address, i), 16);
    text.append(digits.data(), end.ptr);
  }
  return text;
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
  const auto prefix = number(text.substr(slash + 1), 10, 3, 128);
  if (!address || !prefix || static_cast<int>(*prefix) > ip_bits(*address)) return std::nullopt;
  return IpNetwork{*address, static_cast<int>(*prefix)};
}

}  // namespace dlaunch
