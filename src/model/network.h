// A node's network interfaces and limits, as its agent found them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlaunch {

struct InterfaceAddress {
  std::string text;  // as ip_text() writes it, without scope
  int prefix = 0;    // bits of the subnet, 0..32 or 0..128
  bool operator==(const InterfaceAddress&) const = default;
};

struct NetworkInterface {
  enum class Kind {
    physical,  // real or virtual hardware
    loopback,
    bridge,
    bond,
    vlan,
    veth,        // one end of a pair whose other end is in another network namespace, or here
    tunnel,      // tun, tap, WireGuard, VXLAN, GRE, PPP
    infiniband,  // IP over InfiniBand
    other,
  };
  std::string name;
  Kind kind = Kind::other;
  bool is_up = false;            // enabled, with a carrier
  std::uint32_t speed_mbit = 0;  // 0: unknown, or a placeholder value of a virtual device
  std::uint32_t mtu = 0;         // 0: unknown
  std::string master;            // the bridge, bond or VM interface that contains it; else empty
  std::vector<InterfaceAddress> addresses;  // in the kernel's order; without IPv6 link-local ones
  bool operator==(const NetworkInterface&) const = default;
};

/// Soft limits that ranks start with (getrlimit(2)).
struct ResourceLimits {
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
  std::uint64_t open_files = kUnlimited;
  std::uint64_t processes = kUnlimited;
  std::uint64_t locked_memory = kUnlimited;  // bytes
  std::uint64_t core_file = kUnlimited;      // bytes
  bool operator==(const ResourceLimits&) const = default;
};

}  // namespace dlaunch
