#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>

#include "fabric/net.h"
#include "model/ip_address.h"

namespace dlaunch::fabric {

namespace {

IpAddress address_in(const sockaddr* from) {
  IpAddress address;
  if (from->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, from, sizeof v6);
    address.is_ipv6 = true;
    std::memcpy(address.bytes.data(), &v6.sin6_addr, 16);
  } else {
    sockaddr_in v4{};
    std::memcpy(&v4, from, sizeof v4);
    std::memcpy(address.bytes.data(), &v4.sin_addr, 4);
  }
  return address;
}

int prefix_of(const sockaddr* mask) {
  if (mask == nullptr) return 0;
  int bits = 0;
  for (const std::uint8_t byte : address_in(mask).bytes) bits += std::popcount(byte);
  return bits;
}

std::string hardware_text(const sockaddr_ll& link) {
  std::string text;
  // InfiniBand has 20 bytes, of which this structure holds the first eight.
  const auto length = std::min<std::size_t>(link.sll_halen, sizeof link.sll_addr);
  for (std::size_t i = 0; i < length; ++i) {
    std::array<char, 4> byte;
    (void)std::snprintf(byte.data(), byte.size(), "%02x", link.sll_addr[i]);
    text += (i == 0 ? "" : ":") + std::string(byte.data());
  }
  return text;
}

}  // namespace

std::vector<AddressRow> read_address_rows() {
  ifaddrs* first = nullptr;
  std::vector<AddressRow> rows;
  if (::getifaddrs(&first) != 0) return rows;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    AddressRow row;
    row.name = each->ifa_name;
    row.flags = each->ifa_flags;
    const int family = each->ifa_addr == nullptr ? AF_UNSPEC : each->ifa_addr->sa_family;
    if (family == AF_PACKET) {
      sockaddr_ll link{};
      std::memcpy(&link, each->ifa_addr, sizeof link);
      row.index = link.sll_ifindex;
      row.hardware = hardware_text(link);
    } else if (family == AF_INET || family == AF_INET6) {
      row.address =
          InterfaceAddress{ip_text(address_in(each->ifa_addr)), prefix_of(each->ifa_netmask)};
    } else {
      continue;
    }
    rows.push_back(std::move(row));
  }
  ::freeifaddrs(first);
  return rows;
}

std::string interface_of(const std::string& address, const std::vector<AddressRow>& rows) {
  for (const AddressRow& row : rows) {
    if (row.address && row.address->text == address) return row.name;
  }
  return {};
}

}  // namespace dlaunch::fabric
