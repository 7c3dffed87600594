// How near a GPU and a network card are to each other, by where they hang on the PCI bus. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace dlaunch {

/// Nearest first, so that < means nearer. NCCL's words for them: PIX or PXB, PHB, PHB or NODE, SYS.
enum class Nearness {
  same_switch,  // a PCIe switch or root port joins them, the CPU is not on the way
  same_root,    // one host bridge
  same_socket,  // one NUMA node
  across,       // the link between sockets is on the way
  unknown,
};

[[nodiscard]] std::string_view name_of(Nearness nearness);

/// Paths are the host bridge, the bridges and switch ports below it, and the device, separated by
/// "/": "pci0000:15/0000:15:01.0/0000:16:00.0"; empty: unknown. NUMA nodes: -1 for unknown.
[[nodiscard]] Nearness nearness(std::string_view path_a, int numa_a, std::string_view path_b,
                                int numa_b);

[[nodiscard]] Nearness nearness(const GpuFact& gpu, const RdmaDevice& device);

/// True where neither GPUs nor devices show a bridge above them and no two share a host bridge, as
/// in virtual machines that get each by itself: the real switches cannot be seen there.
[[nodiscard]] bool hides_its_switches(const std::vector<GpuFact>& gpus,
                                      const std::vector<const RdmaDevice*>& devices);

}  // namespace dlaunch
