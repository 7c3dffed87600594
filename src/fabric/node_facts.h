// The hardware of this machine, from text files of the kernel and the NVIDIA driver. Every path is
// below `root` ("" is the real machine), so that a folder can represent any machine. Nothing here
// fails: what cannot be read counts as unknown. Thread-safety: free functions without state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace dlaunch::fabric {

/// The physical cores, ordered by NUMA node, then by first thread. Each has those of its hardware
/// threads that are in `allowed_cpus` (sched_getaffinity(2)) and online. One core per CPU if /sys
/// shows no topology. Does not set `taken`. Source: Linux,
/// Documentation/ABI/stable/sysfs-devices-{system-cpu,node}.
[[nodiscard]] std::vector<CpuCore> read_cores(const std::string& root,
                                              const std::vector<int>& allowed_cpus);

/// The NVIDIA GPUs that this process may open, in PCI bus order. In a container, the driver lists
/// all GPUs of the machine, but only some have a device node, and a device cgroup may forbid
/// others. Does not open the devices, because that could take seconds. Source: NVIDIA driver
/// README, "The /proc Interface".
[[nodiscard]] std::vector<GpuFact> read_gpus(const std::string& root);

/// MemTotal of /proc/meminfo (proc(5)) in bytes; 0 if unknown.
[[nodiscard]] std::uint64_t read_memory_bytes(const std::string& root);

/// MemAvailable of /proc/meminfo in bytes: what programs could get without swapping; 0 if unknown.
[[nodiscard]] std::uint64_t read_available_memory_bytes(const std::string& root);

/// Parses the kernel's format for sets of CPUs, "0-3,8,10-11" (cpuset(7), "List format"). The
/// result is ascending and has each CPU once. Empty for any other text, and if a number is above
/// 65535.
[[nodiscard]] std::vector<int> parse_cpu_list(std::string_view text);

}  // namespace dlaunch::fabric
