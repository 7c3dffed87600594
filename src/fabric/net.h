// Network interfaces. Their addresses come from the kernel's table, everything else from
// /sys/class/net below a root, so that a folder can represent any machine. Nothing here fails: what
// cannot be read counts as unknown. Thread-safety: free functions without state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/network.h"

namespace dlaunch::fabric {

/// One row of getifaddrs(3): an interface, or one address of it.
struct AddressRow {
  std::string name;
  unsigned flags = 0;    // IFF_*, netdevice(7)
  int index = 0;         // only in the row of the interface itself, else 0
  std::string hardware;  // "02:fc:00:00:00:01"; only in the row of the interface itself
  std::optional<InterfaceAddress> address;
  bool operator==(const AddressRow&) const = default;
};

/// Rows of this process's network namespace.
[[nodiscard]] std::vector<AddressRow> read_address_rows();

/// The interfaces that have an address, and their lower interfaces, in the order of `rows`; at
/// most 64. /sys may show another network namespace, so entries whose number or hardware address
/// differs from the row's are ignored. Source: Linux, Documentation/ABI/testing/sysfs-class-net.
[[nodiscard]] std::vector<NetworkInterface> read_interfaces(const std::string& root,
                                                            const std::vector<AddressRow>& rows);

/// The interface that has this address (in the form of ip_text()); empty: none.
[[nodiscard]] std::string interface_of(const std::string& address,
                                       const std::vector<AddressRow>& rows);

/// Names of the devices of libibverbs ("mlx5_0": InfiniBand, RoCE, Omni-Path, EFA) and of Slingshot
/// ("cxi0"). Source: Linux, Documentation/ABI/stable/sysfs-class-infiniband.
[[nodiscard]] std::vector<std::string> read_rdma_devices(const std::string& root);

}  // namespace dlaunch::fabric
