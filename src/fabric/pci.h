// PCI devices as sysfs shows them. Source: Linux, Documentation/ABI/testing/sysfs-bus-pci.
// Nothing here fails: what cannot be read counts as unknown.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/tree.h"
#include "model/fabric.h"

namespace dlaunch::fabric {

/// domain, bus, device, function of "0000:3b:00.0", all hexadecimal.
using PciAddress = std::array<std::uint32_t, 4>;

[[nodiscard]] std::optional<PciAddress> parse_pci_address(std::string_view text);

/// The path of a device, from the target of its link in /sys/bus/pci/devices. It consists of the
/// host bridge, the bridges and switch ports below it, and the device:
/// "pci0000:15/0000:15:01.0/0000:16:00.0". Omits what is above the host bridge (VMBus, ACPI). Empty
/// for anything else.
[[nodiscard]] std::string pci_path_of(std::string_view link_target);

class PciTree {
 public:
  explicit PciTree(const std::string& root) : devices_(root + "/sys/bus/pci/devices") {}

  [[nodiscard]] std::string path(const std::string& address) const;
  [[nodiscard]] int numa(const std::string& address) const;  // -1: unknown
  [[nodiscard]] PciFunction function(const std::string& address) const;
  [[nodiscard]] std::string driver(const std::string& address) const;
  /// Name of an NVIDIA (Mellanox) network card; empty for any other device.
  [[nodiscard]] std::string network_card(const std::string& address) const;

 private:
  [[nodiscard]] std::uint32_t hex(const std::string& path) const;
  Tree devices_;
};

/// What can be learnt from the devices on the bus even without their drivers; at most 4096 devices
/// are read.
struct PciInventory {
  std::vector<std::string> rdma_cards;   // addresses of InfiniBand controllers and ConnectX cards
  std::vector<std::string> nvidia_gpus;  // addresses
  int nvswitches = 0;
  bool operator==(const PciInventory&) const = default;
};

[[nodiscard]] PciInventory read_pci_inventory(const std::string& root);

}  // namespace dlaunch::fabric
