#include "fabric/pci.h"

#include <algorithm>
#include <charconv>

#include "fabric/tree.h"

namespace dlaunch::fabric {

namespace {

constexpr std::uint32_t kMellanox = 0x15b3;
constexpr std::uint32_t kNvidia = 0x10de;
// Base class and subclass: PCI Code and ID Assignment Specification.
constexpr std::uint32_t kEthernetController = 0x0200;
constexpr std::uint32_t kInfinibandController = 0x0207;
constexpr std::uint32_t kVga = 0x0300;
constexpr std::uint32_t k3dController = 0x0302;
constexpr std::uint32_t kOtherBridge = 0x0680;

struct Card {
  std::uint32_t device;
  bool is_virtual;
  const char* name;
};

// Source: Linux, mlx5_core_pci_table in drivers/net/ethernet/mellanox/mlx5/core/main.c, and
// mlx4_pci_table in .../mlx4/main.c.
constexpr Card kCards[] = {
    {0x1003, false, "ConnectX-3"},      {0x1004, true, "ConnectX-3 VF"},
    {0x1007, false, "ConnectX-3 Pro"},  {0x1011, false, "Connect-IB"},
    {0x1012, true, "Connect-IB VF"},    {0x1013, false, "ConnectX-4"},
    {0x1014, true, "ConnectX-4 VF"},    {0x1015, false, "ConnectX-4 Lx"},
    {0x1016, true, "ConnectX-4 Lx VF"}, {0x1017, false, "ConnectX-5"},
    {0x1018, true, "ConnectX-5 VF"},    {0x1019, false, "ConnectX-5 Ex"},
    {0x101a, true, "ConnectX-5 Ex VF"}, {0x101b, false, "ConnectX-6"},
    {0x101c, true, "ConnectX-6 VF"},    {0x101d, false, "ConnectX-6 Dx"},
    {0x101e, true, "ConnectX VF"},  // all families since ConnectX-6 Dx
    {0x101f, false, "ConnectX-6 Lx"},   {0x1021, false, "ConnectX-7"},
    {0x1023, false, "ConnectX-8"},      {0xa2d2, false, "BlueField"},
    {0xa2d3, true, "BlueField VF"},     {0xa2d6, false, "BlueField-2"},
    {0xa2dc, false, "BlueField-3"},
};

const Card* find_card(std::uint32_t vendor, std::uint32_t device) {
  if (vendor != kMellanox) return nullptr;
  const auto* const card = std::find_if(std::begin(kCards), std::end(kCards),
                                        [&](const Card& c) { return c.device == device; });
  return card == std::end(kCards) ? nullptr : card;
}

bool is_host_bridge(std::string_view part) {
  constexpr std::string_view kPrefix = "pci";
  if (!part.starts_with(kPrefix)) return false;
  part.remove_prefix(kPrefix.size());
  return parse_pci_address(std::string(part) + ":00.0").has_value();
}

}  // namespace

std::optional<PciAddress> parse_pci_address(std::string_view text) {
  PciAddress address{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < address.size(); ++i) {
    const auto [stop, error] = std::from_chars(at, end, address[i], 16);
    if (error != std::errc()) return std::nullopt;
    const bool last = i + 1 == address.size();
    if (last) return stop == end ? std::optional(address) : std::nullopt;
    if (stop == end || *stop != (i == 2 ? '.' : ':')) return std::nullopt;
    at = stop + 1;
  }
  return std::nullopt;
}

std::string pci_path_of(std::string_view link_target) {
  constexpr std::size_t kDeepest = 32;
  std::string path;
  for (std::size_t parts = 0; !link_target.empty();) {
    const std::size_t slash = link_target.find('/');
    const std::string_view part = link_target.substr(0, slash);
    if (path.empty() ? is_host_bridge(part) : parse_pci_address(part).has_value()) {
      path.append(path.empty() ? "" : "/").append(part);
      if (++parts > kDeepest) return {};
    } else if (!path.empty()) {
      return {};
    }
    if (slash == std::string_view::npos) break;
    link_target.remove_prefix(slash + 1);
  }
  return path.find('/') == std::string::npos ? std::string() : path;
}

std::uint32_t PciTree::hex(const std::string& path) const {
  const std::optional<std::string> text = devices_.read(path);
  return text ? parse_hex(*text).value_or(0) : 0;
}

std::string PciTree::path(const std::string& address) const {
  const std::string path = pci_path_of(devices_.link_target(address));
  return path.ends_with("/" + address) ? path : std::string();
}

int PciTree::numa(const std::string& address) const {
  // The file has -1, which read_number() rejects, if the firmware reports no node, as in many
  // virtual machines.
  const int numa = devices_.read_number(address + "/numa_node").value_or(-1);
  return numa <= kMostNuma ? numa : -1;
}

PciFunction PciTree::function(const std::string& address) const {
  // The link to the physical function exists only on the host, and not in a guest that owns the
  // device.
  if (devices_.has(address + "/physfn")) return PciFunction::virtual_function;
  if (devices_.has(address + "/sriov_totalvfs")) return PciFunction::physical;
  const Card* const card = find_card(hex(address + "/vendor"), hex(address + "/device"));
  if (card == nullptr) return PciFunction::unknown;
  return card->is_virtual ? PciFunction::virtual_function : PciFunction::physical;
}

std::string PciTree::driver(const std::string& address) const {
  return plain_or_empty(devices_.link_name(address + "/driver"));
}

std::string PciTree::network_card(const std::string& address) const {
  const Card* const card = find_card(hex(address + "/vendor"), hex(address + "/device"));
  return card == nullptr ? "" : card->name;
}

PciInventory read_pci_inventory(const std::string& root) {
  constexpr std::size_t kMost = 4096;
  PciInventory found;
  const Tree devices(root + "/sys/bus/pci/devices");
  const auto hex = [&](const std::string& path) {
    const std::optional<std::string> text = devices.read(path);
    return text ? parse_hex(*text).value_or(0) : 0;
  };
  std::size_t seen = 0;
  for (const std::string& address : devices.names()) {
    if (++seen > kMost) break;
    if (!parse_pci_address(address)) continue;
    const std::uint32_t kind = hex(address + "/class") >> 8U;
    if (kind == kInfinibandController) {
      found.rdma_cards.push_back(address);
    } else if (kind == kEthernetController) {
      if (find_card(hex(address + "/vendor"), hex(address + "/device")) != nullptr)
        found.rdma_cards.push_back(address);
    } else if (kind == kVga || kind == k3dController) {
      if (hex(address + "/vendor") == kNvidia) found.nvidia_gpus.push_back(address);
    } else if (kind == kOtherBridge) {
      if (hex(address + "/vendor") == kNvidia) ++found.nvswitches;
    }
  }
  return found;
}

}  // namespace dlaunch::fabric
