#include "plan/fabric_ports.h"

#include <algorithm>
#include <set>
#include <string>

namespace dlaunch {

namespace {

/// How many parts both paths begin with.
std::size_t common_parts(std::string_view a, std::string_view b) {
  std::size_t parts = 0;
  while (!a.empty() && !b.empty()) {
    const std::size_t end_a = a.find('/');
    const std::size_t end_b = b.find('/');
    if (a.substr(0, end_a) != b.substr(0, end_b)) break;
    ++parts;
    a.remove_prefix(end_a == std::string_view::npos ? a.size() : end_a + 1);
    b.remove_prefix(end_b == std::string_view::npos ? b.size() : end_b + 1);
  }
  return parts;
}

bool is_alone_below_its_bridge(std::string_view path) {
  return std::count(path.begin(), path.end(), '/') == 1;
}

using LinkLayer = RdmaPort::LinkLayer;
using State = RdmaPort::State;

const char* word_for(LinkLayer layer) {
  return layer == LinkLayer::infiniband ? "InfiniBand" : "RoCE";
}

const NicFact* nic_named(const NodeFacts& facts, const std::string& name) {
  const auto& nics = facts.fabric.nics;
  const auto found =
      std::find_if(nics.begin(), nics.end(), [&](const NicFact& nic) { return nic.name == name; });
  return found == nics.end() ? nullptr : &*found;
}

/// Whether `nic` is the interface that Hyper-V gives the virtual machine, or a part of it.
bool is_of_hyper_v(const NodeFacts& facts, const NicFact* nic) {
  constexpr std::string_view kDriver = "hv_netvsc";
  if (nic == nullptr) return false;
  if (nic->driver == kDriver) return true;
  const NicFact* const master = nic_named(facts, nic->master);
  return master != nullptr && master->driver == kDriver;
}

/// Hyper-V adds the physical function's share to the existing interface of the VM, and the kernel
/// then fills the share's table with the addresses of that interface (roce_gid_mgmt.c).
bool is_fast_path_of_a_vm(const NodeFacts& facts, const RdmaDevice& device, const RdmaPort& port) {
  if (is_of_hyper_v(facts, nic_named(facts, port.netdev))) return true;
  const auto& nics = facts.fabric.nics;
  return std::any_of(port.gids.begin(), port.gids.end(),
                     [&](const RdmaGid& gid) {
                       return is_of_hyper_v(facts, nic_named(facts, gid.netdev));
                     }) ||
         std::any_of(nics.begin(), nics.end(), [&](const NicFact& nic) {
           return !nic.pci_address.empty() && nic.pci_address == device.pci_address &&
                  is_of_hyper_v(facts, &nic);
         });
}

/// Whether every GPU shares a switch with a port of this kind. An unusable port counts, because
/// other ports do not replace it.
bool gpus_have_ports_of_their_own(const NodeFacts& facts, LinkLayer layer) {
  const auto is_of_it = [&](const GpuFact& gpu, const RdmaDevice& device) {
    if (nearness(gpu, device) != Nearness::same_switch) return false;
    return std::any_of(device.ports.begin(), device.ports.end(), [&](const RdmaPort& port) {
      if (port.link_layer != layer) return false;
      return layer == LinkLayer::infiniband ? is_infiniband_card(device)
                                            : !is_fast_path_of_a_vm(facts, device, port);
    });
  };
  const auto& devices = facts.fabric.rdma;
  return !facts.gpus.empty() &&
         std::all_of(facts.gpus.begin(), facts.gpus.end(), [&](const GpuFact& gpu) {
           return std::any_of(devices.begin(), devices.end(),
                              [&](const RdmaDevice& device) { return is_of_it(gpu, device); });
         });
}

std::uint32_t fastest(const std::vector<FabricPort>& ports) {
  std::uint32_t rate = 0;
  for (const FabricPort& port : ports) rate = std::max(rate, port.port->rate_mbit);
  return rate;
}

bool are_equally_fast(const std::vector<FabricPort>& ports) {
  return std::all_of(ports.begin(), ports.end(), [&](const FabricPort& port) {
    return port.port->rate_mbit == fastest(ports);
  });
}

/// "mlx5_0", "mlx5_0 and mlx5_1", "mlx5_0, mlx5_1 and 6 more".
std::string list_text(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string text;
  const std::size_t shown = names.size() > kShown + 1 ? kShown : names.size();
  for (std::size_t i = 0; i < shown; ++i) {
    const bool is_last = i + 1 == names.size();
    text += (i == 0 ? "" : is_last ? " and " : ", ") + names[i];
  }
  if (shown < names.size()) text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

/// "; mlx5_2 and mlx5_8 are Ethernet"
void append_left_out(std::string& reason, const std::vector<std::string>& names, const char* is,
                     const char* are, const std::string& what) {
  if (names.empty()) return;
  reason += "; " + list_text(names) + (names.size() == 1 ? is : are) + what;
}

std::string reason_for(const NodeFacts& facts, LinkLayer layer, const PortChoice& choice,
                       const std::vector<std::string>& far) {
  const std::size_t count = choice.ports.size();
  std::string reason =
      std::to_string(count) + ' ' + word_for(layer) + (count == 1 ? " port" : " ports") + " ACTIVE";
  if (const std::uint32_t rate = fastest(choice.ports); rate > 0)
    reason += (are_equally_fast(choice.ports) ? " at " : " at up to ") + rate_text(rate);
  if (choice.are_of_gpus) reason += ", on PCIe switches with GPUs";
  append_left_out(reason, far, " is not", " are not", "");
  std::vector<std::string> ethernet;
  for (const RdmaDevice& device : facts.fabric.rdma) {
    const bool is_other = std::any_of(device.ports.begin(), device.ports.end(), [&](const auto& p) {
      return p.link_layer == LinkLayer::ethernet && p.state == State::active;
    });
    if (layer == LinkLayer::infiniband && is_other) ethernet.push_back(device.name);
  }
  append_left_out(reason, ethernet, " is", " are", " Ethernet");
  return reason;
}

/// Notable facts about the ports beside GPUs.
std::vector<std::string> oddities_of(const NodeFacts& facts, LinkLayer layer,
                                     const std::vector<FabricPort>& chosen) {
  std::vector<std::string> oddities;
  for (const RdmaDevice& device : facts.fabric.rdma) {
    for (const RdmaPort& port : device.ports) {
      const std::string name = device.name + '/' + std::to_string(port.number);
      if (port.link_layer != layer ||
          (layer == LinkLayer::infiniband && !is_infiniband_card(device)))
        continue;
      if (port.state != State::active && is_beside_a_gpu(facts, device)) {
        oddities.push_back(name + " is " + std::string(name_in(kPortStateNames, port.state)) +
                           (port.physical_state.empty() ? "" : " (" + port.physical_state + ")"));
      }
      const bool is_chosen = std::any_of(chosen.begin(), chosen.end(),
                                         [&](const FabricPort& c) { return c.port == &port; });
      if (is_chosen && port.rate_mbit > 0 && port.rate_mbit < fastest(chosen)) {
        oddities.push_back(name + " runs at " + rate_text(port.rate_mbit) + ", others at " +
                           rate_text(fastest(chosen)));
      }
    }
  }
  return oddities;
}

}  // namespace

std::string_view name_of(Nearness nearness) {
  switch (nearness) {
    case Nearness::same_switch:
      return "same switch";
    case Nearness::same_root:
      return "same root";
    case Nearness::same_socket:
      return "same socket";
    case Nearness::across:
      return "across sockets";
    case Nearness::unknown:
      break;
  }
  return "unknown";
}

Nearness nearness(std::string_view path_a, int numa_a, std::string_view path_b, int numa_b) {
  const std::size_t common = common_parts(path_a, path_b);
  if (common >= 2) return Nearness::same_switch;
  if (common == 1) return Nearness::same_root;
  if (numa_a < 0 || numa_b < 0) return Nearness::unknown;
  return numa_a == numa_b ? Nearness::same_socket : Nearness::across;
}

Nearness nearness(const GpuFact& gpu, const RdmaDevice& device) {
  return nearness(gpu.pci_path, gpu.numa, device.pci_path, device.numa);
}

bool hides_its_switches(const std::vector<GpuFact>& gpus,
                        const std::vector<const RdmaDevice*>& devices) {
  if (gpus.empty() || devices.empty()) return false;
  std::set<std::string_view> bridges;
  const auto is_alone = [&](std::string_view path) {
    return is_alone_below_its_bridge(path) && bridges.insert(path.substr(0, path.find('/'))).second;
  };
  return std::all_of(gpus.begin(), gpus.end(),
                     [&](const GpuFact& gpu) { return is_alone(gpu.pci_path); }) &&
         std::all_of(devices.begin(), devices.end(),
                     [&](const RdmaDevice* device) { return is_alone(device->pci_path); });
}

bool is_beside_a_gpu(const NodeFacts& facts, const RdmaDevice& device) {
  return std::any_of(facts.gpus.begin(), facts.gpus.end(), [&](const GpuFact& gpu) {
    return nearness(gpu, device) == Nearness::same_switch;
  });
}

std::string name_of(const FabricPort& port) {
  return port.device->name + ':' + std::to_string(port.port->number);
}

std::string rate_text(std::uint32_t mbit) {
  std::string text = std::to_string(mbit / 1000);
  if (mbit % 1000 != 0) text += '.' + std::to_string(mbit % 1000 / 100);
  return text + " Gb/s";
}

int roce_v2_index(const RdmaPort& port) {
  constexpr std::string_view kMapped = "0000:0000:0000:0000:0000:ffff:";  // RFC 4291, 2.5.5.2
  constexpr std::string_view kLinkLocal = "a9fe:";                        // 169.254.0.0/16
  for (const RdmaGid& gid : port.gids) {
    if (gid.type != RdmaGid::Type::roce_v2 || !gid.gid.starts_with(kMapped)) continue;
    if (!std::string_view(gid.gid).substr(kMapped.size()).starts_with(kLinkLocal)) return gid.index;
  }
  return -1;
}

bool is_infiniband_card(const RdmaDevice& device) {
  // In a container without /sys/bus/pci the driver is unknown.
  const std::string& word = device.driver.empty() ? device.name : device.driver;
  return word.starts_with("mlx5_") || word.starts_with("mlx4_");
}

std::vector<std::string> rails_without_address(const NodeFacts& facts) {
  std::vector<std::string> texts;
  for (const RdmaDevice& device : facts.fabric.rdma) {
    if (!is_beside_a_gpu(facts, device)) continue;
    for (const RdmaPort& port : device.ports) {
      if (port.link_layer != LinkLayer::ethernet || port.state != State::active) continue;
      if (roce_v2_index(port) >= 0 || is_fast_path_of_a_vm(facts, device, port)) continue;
      texts.push_back(device.name + '/' + std::to_string(port.number) +
                      (port.netdev.empty() ? "" : " (" + port.netdev + ")") +
                      " is ACTIVE beside a GPU, but has no RoCE v2 address over IPv4: NCCL_IB_HCA "
                      "does not include it");
    }
  }
  return texts;
}

std::vector<FabricPort> usable_ports(const NodeFacts& facts, LinkLayer layer) {
  std::vector<FabricPort> ports;
  for (const RdmaDevice& device : facts.fabric.rdma) {
    if (!device.is_usable || device.pci_address.empty()) continue;
    for (const RdmaPort& port : device.ports) {
      if (port.link_layer != layer || port.state != State::active) continue;
      const bool is_ethernet = layer == LinkLayer::ethernet;
      if (!is_ethernet && !is_infiniband_card(device)) continue;
      if (is_ethernet && (roce_v2_index(port) < 0 || is_fast_path_of_a_vm(facts, device, port)))
        continue;
      ports.push_back({&device, &port});
    }
  }
  return ports;
}

PortChoice choose_ports(const NodeFacts& facts, LinkLayer layer) {
  const std::vector<FabricPort> all = usable_ports(facts, layer);
  PortChoice choice;
  if (all.empty()) return choice;
  choice.are_of_gpus = gpus_have_ports_of_their_own(facts, layer);
  std::vector<std::string> far;
  for (const FabricPort& port : all) {
    if (!choice.are_of_gpus || is_beside_a_gpu(facts, *port.device)) {
      choice.ports.push_back(port);
    } else {
      far.push_back(port.device->name);
    }
  }
  if (choice.ports.empty()) {
    choice.reason = std::string("none of the ") + word_for(layer) +
                    " ports beside its GPUs can be used, and others may be on another network";
    return choice;
  }
  if (layer == LinkLayer::ethernet && !choice.are_of_gpus && !are_equally_fast(all)) {
    choice.ports.clear();
    choice.reason = "its RoCE ports differ in speed, and none is known to belong to the GPUs";
    return choice;
  }
  choice.reason = reason_for(facts, layer, choice, far);
  choice.oddities = oddities_of(facts, layer, choice.ports);
  return choice;
}

}  // namespace dlaunch
