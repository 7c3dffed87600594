// The PCI distance between a GPU and a network card. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace dlaunch {

/// Nearest first, so that < means nearer. NCCL's terms: PIX or PXB, PHB, PHB or NODE, SYS.
enum class Nearness {
  same_switch,  // connected by a PCIe switch or root port, without the CPU
  same_root,    // one host bridge
  same_socket,  // one NUMA node
  across,       // across the link between sockets
  unknown,
};

[[nodiscard]] std::string_view name_of(Nearness nearness);

/// Paths are the host bridge, the bridges and switch ports below it, and the device, separated by
/// "/": "pci0000:15/0000:15:01.0/0000:16:00.0"; empty: unknown. NUMA nodes: -1 for unknown.
[[nodiscard]] Nearness nearness(std::string_view path_a, int numa_a, std::string_view path_b,
                                int numa_b);

[[nodiscard]] Nearness nearness(const GpuFact& gpu, const RdmaDevice& device);

/// True if neither GPUs nor devices have a visible bridge above them and no two share a host
/// bridge, as in virtual machines with individual pass-through: the real switches are hidden.
[[nodiscard]] bool hides_its_switches(const std::vector<GpuFact>& gpus,
                                      const std::vector<const RdmaDevice*>& devices);

}  // namespace dlaunch
