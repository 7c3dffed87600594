// A node's hardware for fast communication, as its agent found it: InfiniBand and RoCE ports,
// network cards, and the relevant facts about GPUs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/environment.h"

namespace dlaunch {

/// One entry of a port's table of global identifiers.
struct RdmaGid {
  enum class Type { unknown, v1, roce_v2 };  // v1: "IB/RoCE v1"
  int index = 0;
  Type type = Type::unknown;
  std::string gid;     // "fe80:0000:0000:0000:506b:4bff:fe4c:1d2a"
  std::string netdev;  // RoCE: the interface that it belongs to; else empty
  bool operator==(const RdmaGid&) const = default;
};

/// Source of names and numbers: Linux, Documentation/ABI/stable/sysfs-class-infiniband.
struct RdmaPort {
  enum class LinkLayer { unknown, infiniband, ethernet };
  enum class State { unknown, nop, down, init, armed, active, active_defer };
  int number = 1;
  LinkLayer link_layer = LinkLayer::unknown;
  State state = State::unknown;
  std::string physical_state;   // "LinkUp", "Polling", "Disabled", ...; empty: unknown
  std::uint32_t rate_mbit = 0;  // of all lanes together; 0: unknown
  int lanes = 0;                // 1, 2, 4, 8, 12; 0: unknown
  std::string speed;            // of a lane: "EDR", "HDR", "NDR"; empty: SDR, or unknown
  std::uint32_t lid = 0;        // 0: none, as on Ethernet
  std::uint32_t sm_lid = 0;     // of the subnet manager
  std::string netdev;           // IP over InfiniBand, or the RoCE card's interface; empty: none
  std::vector<RdmaGid> gids;    // those in use, ascending by index
  bool operator==(const RdmaPort&) const = default;
};

/// Whether a PCI function is the physical card, or a virtual function from a hypervisor (SR-IOV).
enum class PciFunction { unknown, physical, virtual_function };

/// A device of libibverbs.
struct RdmaDevice {
  std::string name;         // "mlx5_0"
  std::string type;         // "CA" (InfiniBand, RoCE), "RNIC" (iWARP), "usNIC", ...; empty: unknown
  std::string guid;         // "506b:4b03:004c:1d2a"
  std::string firmware;     // "28.39.1002"
  std::string card;         // "ConnectX-7" if the PCI id is known, else the driver's name for it
  std::string driver;       // of the PCI device: "mlx5_core"
  std::string pci_address;  // "0000:18:00.0"; empty: no PCI device
  std::string pci_path;     // see plan/fabric_ports.h; empty: unknown
  int numa = -1;            // -1: unknown
  PciFunction function = PciFunction::unknown;
  bool is_usable = false;       // its file in /dev/infiniband exists, and we may open it
  std::vector<RdmaPort> ports;  // ascending by number
  bool operator==(const RdmaDevice&) const = default;
};

/// A network interface with its own hardware, with or without an address.
struct NicFact {
  std::string name;
  std::string driver;  // "mlx5_core", "hv_netvsc", "virtio_net"
  std::string pci_address;
  std::string pci_path;
  int numa = -1;
  PciFunction function = PciFunction::unknown;
  bool has_carrier = false;
  std::uint32_t speed_mbit = 0;  // 0: unknown
  std::string master;            // the bond, bridge or VM interface that it is a part of
  bool is_infiniband = false;    // IP over InfiniBand
  bool operator==(const NicFact&) const = default;
};

/// A missing folder or file adds nothing to the facts; the `no_` texts say why nothing was found.
struct FabricFacts {
  std::vector<RdmaDevice> rdma;  // in the order of their names' numbers: mlx5_2 before mlx5_10
  std::string no_rdma;           // why there is none, in one line; empty if there is one
  std::vector<NicFact> nics;
  std::string gpu_driver;     // "550.54.15"; empty: not loaded
  std::string no_gpus;        // why there are none, in one line
  int nvswitches = 0;         // NVSwitch devices on the PCI bus of this machine
  bool peer_memory = false;   // nvidia_peermem or nv_peer_mem is loaded
  Environment nccl_settings;  // NCCL_* of /etc/nccl.conf and ~/.nccl.conf; the first file wins
  std::vector<std::string> oddities;  // what could not be understood, one sentence each; at most 16
  bool operator==(const FabricFacts&) const = default;
};

// ---- names of values, in JSON and on the wire

template <class Value, std::size_t N>
using NameTable = std::array<std::pair<Value, std::string_view>, N>;

inline constexpr NameTable<RdmaGid::Type, 3> kGidTypeNames = {
    {{RdmaGid::Type::unknown, "unknown"},
     {RdmaGid::Type::v1, "v1"},
     {RdmaGid::Type::roce_v2, "roce_v2"}}};

inline constexpr NameTable<RdmaPort::LinkLayer, 3> kLinkLayerNames = {
    {{RdmaPort::LinkLayer::unknown, "unknown"},
     {RdmaPort::LinkLayer::infiniband, "infiniband"},
     {RdmaPort::LinkLayer::ethernet, "ethernet"}}};

inline constexpr NameTable<RdmaPort::State, 7> kPortStateNames = {
    {{RdmaPort::State::unknown, "unknown"},
     {RdmaPort::State::nop, "nop"},
     {RdmaPort::State::down, "down"},
     {RdmaPort::State::init, "init"},
     {RdmaPort::State::armed, "armed"},
     {RdmaPort::State::active, "active"},
     {RdmaPort::State::active_defer, "active_defer"}}};

inline constexpr NameTable<PciFunction, 3> kPciFunctionNames = {
    {{PciFunction::unknown, "unknown"},
     {PciFunction::physical, "physical"},
     {PciFunction::virtual_function, "virtual"}}};

template <class Value, std::size_t N>
[[nodiscard]] constexpr std::string_view name_in(const NameTable<Value, N>& table, Value value) {
  for (const auto& [known, name] : table) {
    if (known == value) return name;
  }
  return {};
}

}  // namespace dlaunch
