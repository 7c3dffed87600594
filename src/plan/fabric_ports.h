// Which InfiniBand or RoCE ports of a node a job should talk through. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/cluster.h"

namespace dlaunch {

struct FabricPort {
  const RdmaDevice* device = nullptr;  // of the facts that were asked
  const RdmaPort* port = nullptr;
};

/// "mlx5_0:1", as NCCL_IB_HCA and UCX_NET_DEVICES name it.
[[nodiscard]] std::string name_of(const FabricPort& port);

/// "400 Gb/s", "2.5 Gb/s".
[[nodiscard]] std::string rate_text(std::uint32_t mbit);

/// The index of a RoCE port's address that routers understand: RoCE v2 with an IPv4 address that is
/// not link-local, as NCCL chooses it (NCCL_IB_ROCE_VERSION_NUM, NCCL_IB_ADDR_FAMILY); -1: none.
[[nodiscard]] int roce_v2_index(const RdmaPort& port);

/// mlx5 and mlx4. Other drivers say "InfiniBand", too (rdma_port_get_link_layer in the kernel's
/// ib_verbs): hfi1, which is Omni-Path, and qib; those are for PSM and not for verbs.
[[nodiscard]] bool is_infiniband_card(const RdmaDevice& device);

/// Whether a PCIe switch or root port joins it and one of the node's GPUs.
[[nodiscard]] bool is_beside_a_gpu(const NodeFacts&, const RdmaDevice&);

/// RoCE ports beside GPUs that are ACTIVE and nevertheless no usable_ports(): one sentence each.
[[nodiscard]] std::vector<std::string> rails_without_address(const NodeFacts&);

/// Ports of this kind that traffic can go through now: ACTIVE (NCCL looks at no others), of a card
/// on the PCI bus, may be opened; InfiniBand: of an is_infiniband_card(). Over Ethernet also with a
/// RoCE v2 address, and not the fast path of a virtual machine's own interface (Azure's Accelerated
/// Networking), which carries no RDMA.
[[nodiscard]] std::vector<FabricPort> usable_ports(const NodeFacts&, RdmaPort::LinkLayer);

/// Those that a job should use, and why these.
struct PortChoice {
  std::vector<FabricPort> ports;
  std::string reason;                 // one sentence, for `dlaunch plan`
  bool are_of_gpus = false;           // on PCIe switches with GPUs, where each GPU has such a port
  std::vector<std::string> oddities;  // ports beside GPUs that are down or slow, one sentence each
};

/// Where every GPU shares a PCIe switch with a port, be it up or down, those that do: others are
/// for storage and management, and often on another network. Else all of InfiniBand, or of RoCE
/// where they are equally fast: NCCL would take them all, too. Empty where RoCE ports differ, or no
/// port of a GPU can be used: `reason` then says so.
[[nodiscard]] PortChoice choose_ports(const NodeFacts&, RdmaPort::LinkLayer);

}  // namespace dlaunch
