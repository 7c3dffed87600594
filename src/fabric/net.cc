#include "fabric/net.h"

#include <net/if.h>

#include <ifaddrs.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "fabric/tree.h"
#include "model/ip_address.h"
#include "text/strings.h"

namespace dlaunch::fabric {

namespace {

using Kind = NetworkInterface::Kind;

constexpr std::size_t kMost = 64;
constexpr int kArphrdEther = 1;  // include/uapi/linux/if_arp.h
constexpr int kArphrdInfiniband = 32;
constexpr int kArphrdLoopback = 772;

bool is_ipv6_link_local(const InterfaceAddress& address) {
  const auto ip = parse_ip(address.text);
  return ip && ip->is_ipv6 && is_link_local(*ip);
}

/// DEVTYPE of a device's uevent, as its driver names it (SET_NETDEV_DEVTYPE).
std::string device_type(const Tree& net, const std::string& name) {
  const std::string text = "\n" + net.read(name + "/uevent").value_or("") + "\n";
  constexpr std::string_view kKey = "\nDEVTYPE=";
  const std::size_t at = text.find(kKey);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + kKey.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

Kind kind_of(const Tree& net, const std::string& name) {
  const int type = net.read_number(name + "/type").value_or(-1);
  if (type == kArphrdLoopback) return Kind::loopback;
  if (type == kArphrdInfiniband) return Kind::infiniband;
  if (net.has(name + "/bridge")) return Kind::bridge;
  if (net.has(name + "/bonding")) return Kind::bond;
  if (net.has(name + "/tun_flags")) return Kind::tunnel;
  const std::string devtype = device_type(net, name);
  if (devtype == "bridge") return Kind::bridge;
  if (devtype == "bond") return Kind::bond;
  if (devtype == "vlan") return Kind::vlan;
  constexpr std::array<std::string_view, 6> kTunnels = {"wireguard", "vxlan", "ppp",
                                                        "geneve",    "gre",   "amt"};
  if (contains(kTunnels, devtype)) return Kind::tunnel;
  if (net.has(name + "/device")) return Kind::physical;
  if (type != kArphrdEther) return Kind::tunnel;  // sit0, ipip, gre, wg of older kernels
  // The iflink of a veth interface is the number of its peer.
  const auto number = net.read_number(name + "/ifindex");
  const auto link = net.read_number(name + "/iflink");
  if (devtype.empty() && number && link && *number != *link) return Kind::veth;
  return Kind::other;
}

/// Names of the lower interfaces of interface `name`.
std::vector<std::string> lower_names(const Tree& net, const std::string& name,
                                     const std::string& root) {
  std::vector<std::string> names;
  constexpr std::string_view kLower = "lower_";
  for (const std::string& entry : Tree(root + "/sys/class/net/" + name).names()) {
    if (entry.starts_with(kLower) && net.has(name + "/" + entry))
      names.push_back(entry.substr(kLower.size()));
  }
  return names;
}

bool has_wire(Kind kind) {
  return kind == Kind::physical || kind == Kind::infiniband || kind == Kind::bond ||
         kind == Kind::vlan || kind == Kind::bridge;
}

std::uint32_t own_speed(const Tree& net, const std::string& name) {
  // If the driver does not know the speed, the file has -1 or 4294967295, or reading it fails with
  // EINVAL.
  return static_cast<std::uint32_t>(net.read_number(name + "/speed").value_or(0));
}

class Reader {
 public:
  Reader(const std::string& root, const std::vector<AddressRow>& rows)
      : root_(root), net_(root + "/sys/class/net"), rows_(rows) {}

  std::vector<NetworkInterface> read() {
    for (const AddressRow& row : rows_) {
      if (row.address && !is_ipv6_link_local(*row.address)) add(row.name);
    }
    for (const AddressRow& row : rows_) {
      NetworkInterface* const known = find(row.name);
      if (known == nullptr) continue;
      known->is_up = (row.flags & IFF_UP) != 0 && (row.flags & IFF_RUNNING) != 0;
      if ((row.flags & IFF_LOOPBACK) != 0) known->kind = Kind::loopback;
      if (row.address && !is_ipv6_link_local(*row.address))
        known->addresses.push_back(*row.address);
    }
    return std::move(found_);
  }

 private:
  NetworkInterface* find(const std::string& name) {
    const auto known = std::find_if(found_.begin(), found_.end(),
                                    [&](const NetworkInterface& i) { return i.name == name; });
    return known == found_.end() ? nullptr : &*known;
  }

  /// Whether /sys describes the same interface as the kernel's table.
  bool is_ours(const std::string& name) const {
    const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const AddressRow& r) {
      return r.name == name && r.index != 0;
    });
    if (row == rows_.end()) return true;
    const auto number = net_.read_number(name + "/ifindex");
    const std::string hardware = net_.read(name + "/address").value_or("");
    return number == row->index && hardware.starts_with(row->hardware);
  }

  /// Returns the interface's speed, because the speed of an upper interface may depend on it.
  std::uint32_t add(const std::string& name, int depth = 0) {
    constexpr int kDeepest = 4;  // VLAN on a bridge on a bond on hardware
    if (const NetworkInterface* known = find(name)) return known->speed_mbit;
    if (depth > kDeepest || found_.size() >= kMost) return 0;
    const std::size_t mine = found_.size();
    found_.emplace_back().name = name;
    if (!is_ours(name)) return 0;
    const Kind kind = kind_of(net_, name);
    std::uint32_t speed = has_wire(kind) ? own_speed(net_, name) : 0;
    std::uint32_t fastest = 0;
    for (const std::string& lower : lower_names(net_, name, root_))
      fastest = std::max(fastest, add(lower, depth + 1));
    if (speed == 0) speed = fastest;
    NetworkInterface& made = found_[mine];
    made.kind = kind;
    made.speed_mbit = speed;
    made.mtu = static_cast<std::uint32_t>(net_.read_number(name + "/mtu").value_or(0));
    made.master = net_.link_name(name + "/master");
    return speed;
  }

  const std::string& root_;
  Tree net_;
  const std::vector<AddressRow>& rows_;
  std::vector<NetworkInterface> found_;
};

}  // namespace

std::vector<std::string> read_rdma_devices(const std::string& root) {
  std::vector<std::string> devices = Tree(root + "/sys/class/infiniband").names();
  for (std::string& name : Tree(root + "/sys/class/cxi").names())
    devices.push_back(std::move(name));
  return devices;
}

std::vector<NetworkInterface> read_interfaces(const std::string& root,
                                              const std::vector<AddressRow>& rows) {
  return Reader(root, rows).read();
}

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
  // An InfiniBand address has 20 bytes; this structure holds the first eight.
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
