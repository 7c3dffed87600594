// Selects the InfiniBand or RoCE ports of a node for a job, by the PCI distance between GPUs and
// network cards. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace dlaunch {

/// How near a GPU and a network card are. Nearest first, so < means nearer. NCCL's terms: PIX or
/// PXB, PHB, PHB or NODE, SYS.
enum class Nearness {
  same_switch,  // connected by a PCIe switch or root port, without the CPU
  same_root,    // below the same host bridge
  same_socket,  // on the same NUMA node
  across,       // across the link between sockets
  unknown,
};

[[nodiscard]] std::string_view name_of(Nearness nearness);

/// A path consists of the host bridge, the bridges and switch ports below it, and the device,
/// separated by "/": "pci0000:15/0000:15:01.0/0000:16:00.0"; empty: unknown. NUMA node -1: unknown.
[[nodiscard]] Nearness nearness(std::string_view path_a, int numa_a, std::string_view path_b,
                                int numa_b);

[[nodiscard]] Nearness nearness(const GpuFact& gpu, const RdmaDevice& device);

/// True if no GPU or device has a visible bridge above it and no two of them share a host bridge.
/// Virtual machines with individual pass-through look like this: their real switches are hidden.
[[nodiscard]] bool hides_its_switches(const std::vector<GpuFact>& gpus,
                                      const std::vector<const RdmaDevice*>& devices);

struct FabricPort {
  const RdmaDevice* device = nullptr;  // points into the facts
  const RdmaPort* port = nullptr;
};

/// "mlx5_0:1", the name in NCCL_IB_HCA and UCX_NET_DEVICES.
[[nodiscard]] std::string name_of(const FabricPort& port);

/// "400 Gb/s", "2.5 Gb/s".
[[nodiscard]] std::string rate_text(std::uint32_t mbit);

/// The index of a RoCE port's routable address: RoCE v2 with an IPv4 address that is not
/// link-local, as NCCL chooses it (NCCL_IB_ROCE_VERSION_NUM, NCCL_IB_ADDR_FAMILY); -1: none.
[[nodiscard]] int roce_v2_index(const RdmaPort& port);

/// mlx5 and mlx4. Other drivers report "InfiniBand", too (rdma_port_get_link_layer in the kernel's
/// ib_verbs): hfi1, which is Omni-Path, and qib; those use PSM instead of verbs.
[[nodiscard]] bool is_infiniband_card(const RdmaDevice& device);

/// Whether a PCIe switch or root port connects the device with one of the node's GPUs.
[[nodiscard]] bool is_beside_a_gpu(const NodeFacts&, const RdmaDevice&);

/// One sentence for each ACTIVE RoCE port beside a GPU that usable_ports() excludes.
[[nodiscard]] std::vector<std::string> rails_without_address(const NodeFacts&);

/// Ports of this kind that can carry traffic now: they are ACTIVE (NCCL considers no others) and on
/// a PCI card that this process may open. An InfiniBand port must be on an is_infiniband_card(). An
/// Ethernet port must have a RoCE v2 address, and must not be the fast path of a virtual machine's
/// own interface (Azure's Accelerated Networking), which does not support RDMA.
[[nodiscard]] std::vector<FabricPort> usable_ports(const NodeFacts&, RdmaPort::LinkLayer);

/// The ports that a job should use, with the reason.
struct PortChoice {
  std::vector<FabricPort> ports;
  std::string reason;                 // one sentence, for `dlaunch plan`
  bool are_of_gpus = false;           // true if each GPU shares a PCIe switch with one of the ports
  std::vector<std::string> oddities;  // ports beside GPUs that are down or slow, one sentence each
};

/// If every GPU shares a PCIe switch with a port, up or down, chooses those ports: other ports
/// serve storage and management, often on another network. Otherwise chooses all InfiniBand ports,
/// or all RoCE ports if they are equally fast, as NCCL would. Chooses none if the RoCE ports
/// differ, or if no port beside a GPU is usable: `reason` then says so.
[[nodiscard]] PortChoice choose_ports(const NodeFacts&, RdmaPort::LinkLayer);

}  // namespace dlaunch
