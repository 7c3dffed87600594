#include "plan/fabric_env.h"

#include <algorithm>

#include "plan/fabric_ports.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using LinkLayer = RdmaPort::LinkLayer;

constexpr std::size_t kMostNotes = 4;

std::string names_of(const std::vector<FabricPort>& ports) {
  return joined(ports, ",", [](const FabricPort& port) { return name_of(port); });
}

/// Why none of the node's devices of this kind is usable; empty if it has no such device.
std::string why_unusable(const NodeFacts& facts, LinkLayer layer) {
  for (const RdmaDevice& device : facts.fabric.rdma) {
    for (const RdmaPort& port : device.ports) {
      if (port.link_layer != layer) continue;
      if (port.state != RdmaPort::State::active)
        return device.name + '/' + std::to_string(port.number) + " is " +
               std::string(name_in(kPortStateNames, port.state));
      if (layer == LinkLayer::infiniband && !is_infiniband_card(device))
        return device.name + " is " + (device.driver == "hfi1" ? "Omni-Path" : device.driver);
      if (!device.is_usable) return "its file in /dev/infiniband is missing or cannot be opened";
    }
  }
  return facts.fabric.no_rdma;
}

/// The kind of network that all nodes have; unknown: none. InfiniBand on only some nodes deserves a
/// note, because NCCL would use it there and not reach the other nodes.
LinkLayer common_layer(const Cluster& cluster, std::size_t nodes, std::vector<std::string>& notes) {
  for (const LinkLayer layer : {LinkLayer::infiniband, LinkLayer::ethernet}) {
    const Node* with = nullptr;
    const Node* without = nullptr;
    for (std::size_t i = 0; i < nodes; ++i) {
      const bool has = !usable_ports(cluster.nodes[i].facts, layer).empty();
      const Node*& first = has ? with : without;
      if (first == nullptr) first = &cluster.nodes[i];
    }
    if (with == nullptr) continue;
    if (without == nullptr) return layer;
    if (layer == LinkLayer::ethernet) break;
    const std::string why = why_unusable(without->facts, layer);
    notes.push_back("InfiniBand can be used on " + with->name + " but not on " + without->name +
                    (why.empty() ? "" : " (" + why + ")") +
                    ": NCCL may hang or fail; to run without InfiniBand: --env NCCL_IB_DISABLE=1");
    break;
  }
  return LinkLayer::unknown;
}

void set_gid_index(const Node& node, const std::vector<FabricPort>& ports, NodeFabric& fabric,
                   std::vector<std::string>& notes) {
  const int index = roce_v2_index(*ports.front().port);
  const auto other = std::find_if(ports.begin(), ports.end(), [&](const FabricPort& port) {
    return roce_v2_index(*port.port) != index;
  });
  if (other == ports.end()) {
    fabric.nccl_ib_gid_index = FabricSetting{
        std::to_string(index),
        "where all these ports have their RoCE v2 address (NCCL before 2.21 would take index 0)"};
    return;
  }
  notes.push_back(node.name + ": NCCL_IB_GID_INDEX is not set, because RoCE v2 is at index " +
                  std::to_string(index) + " of " + ports.front().device->name + " and " +
                  std::to_string(roce_v2_index(*other->port)) + " of " + other->device->name +
                  "; NCCL 2.21 and newer find the index themselves");
}

/// Without a topology file NCCL assumes that devices with an unknown position are far apart.
void note_hidden_switches(const Node& node, const std::vector<FabricPort>& ports,
                          std::vector<std::string>& notes) {
  std::vector<const RdmaDevice*> devices;
  for (const FabricPort& port : ports) {
    if (!contains(devices, port.device)) devices.push_back(port.device);
  }
  const bool is_told = node.facts.fabric.nccl_settings.contains("NCCL_TOPO_FILE") ||
                       node.facts.environment.contains("NCCL_TOPO_FILE");
  if (is_told || !hides_its_switches(node.facts.gpus, devices)) return;
  notes.push_back(node.name +
                  ": this virtual machine does not show which GPU and port share a PCIe switch; "
                  "without NCCL_TOPO_FILE, NCCL uses no GPUDirect RDMA");
}

NodeFabric fabric_of(const Node& node, LinkLayer layer, bool has_topology,
                     std::vector<std::string>& notes) {
  NodeFabric fabric;
  const PortChoice choice = choose_ports(node.facts, layer);
  if (choice.ports.empty()) {
    notes.push_back(node.name + ": NCCL_IB_HCA is not set, because " + choice.reason);
    return fabric;
  }
  fabric.nccl_ib_hca = FabricSetting{'=' + names_of(choice.ports), choice.reason};
  if (layer == LinkLayer::infiniband)
    fabric.ucx_net_devices = FabricSetting{names_of(choice.ports), choice.reason};
  if (layer == LinkLayer::ethernet) set_gid_index(node, choice.ports, fabric, notes);
  if (!has_topology) note_hidden_switches(node, choice.ports, notes);
  for (const std::string& oddity : choice.oddities) notes.push_back(node.name + ": " + oddity);
  return fabric;
}

}  // namespace

FabricPlan plan_fabric(const Cluster& cluster, std::size_t nodes, bool has_topology) {
  FabricPlan plan;
  plan.nodes.resize(nodes);
  if (nodes < 2 || cluster.is_assumed) return plan;
  const LinkLayer layer = common_layer(cluster, nodes, plan.notes);
  for (std::size_t i = 0; i < nodes; ++i) {
    const Node& node = cluster.nodes[i];
    if (layer != LinkLayer::unknown)
      plan.nodes[i] = fabric_of(node, layer, has_topology, plan.notes);
    if (layer == LinkLayer::infiniband) continue;
    for (const std::string& text : rails_without_address(node.facts))
      plan.notes.push_back(node.name + ": " + text);
  }
  if (plan.notes.size() > kMostNotes) {
    const std::size_t more = plan.notes.size() - kMostNotes;
    plan.notes.resize(kMostNotes);
    plan.notes.push_back("... and " + std::to_string(more) +
                         " more such notes on InfiniBand or RoCE: see dlaunch info on the nodes");
  }
  return plan;
}

}  // namespace dlaunch
