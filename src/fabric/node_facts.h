// What this machine is made of, from the text files in which the kernel and the NVIDIA driver say
// it. Every path lies below `root` ("" is the real machine), so that a folder can stand for any
// machine. Nothing here fails: what cannot be read is unknown. Thread-safety: free functions
// without state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace dlaunch::fabric {

/// The physical cores, each with those of its hardware threads that are in `allowed_cpus` (as
/// sched_getaffinity(2) tells them) and online; in order of NUMA node, then of first thread. One
/// core per CPU where /sys tells no topology. Nobody's `taken` is set. Source: Linux,
/// Documentation/ABI/stable/sysfs-devices-{system-cpu,node}.
[[nodiscard]] std::vector<CpuCore> read_cores(const std::string& root,
                                              const std::vector<int>& allowed_cpus);

/// The NVIDIA GPUs that this process may open, in PCI bus order: in a container the driver lists
/// all of the machine, but only some have a device node, and a device cgroup may forbid others. The
/// device is not opened for that, which could take seconds. Source: NVIDIA driver README, "The
/// /proc Interface".
[[nodiscard]] std::vector<GpuFact> read_gpus(const std::string& root);

/// MemTotal of /proc/meminfo (proc(5)) in bytes; 0 if unknown.
[[nodiscard]] std::uint64_t read_memory_bytes(const std::string& root);

/// MemAvailable there: what programs could get without swapping.
[[nodiscard]] std::uint64_t read_available_memory_bytes(const std::string& root);

/// The kernel's format for sets of CPUs, "0-3,8,10-11" (cpuset(7), "List format"). Ascending, each
/// once. Empty for anything else, and for numbers above 65535.
[[nodiscard]] std::vector<int> parse_cpu_list(std::string_view text);

/// The same backwards; takes any order.
[[nodiscard]] std::string format_cpu_list(const std::vector<int>& cpus);

}  // namespace dlaunch::fabric
