// Reads what nvidia-smi prints and what the NVIDIA driver writes to the kernel's log. Pure: texts
// in, values out. Sources: `nvidia-smi --help-query-gpu`, `--help-query-remapped-rows`,
// `--help-query-compute-apps`; NVIDIA, "XID Errors".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/gpu_health.h"

namespace dlaunch::fabric {

/// Arguments for nvidia-smi. `old_names`: drivers before 535 know the reasons for lower clocks as
/// clocks_throttle_reasons; a name that is not known fails the whole query.
[[nodiscard]] std::vector<std::string> gpu_query(bool old_names);
[[nodiscard]] std::vector<std::string> remapped_rows_query();
[[nodiscard]] std::vector<std::string> gpu_processes_query();

/// What gpu_query() prints: a line of names, then one for each GPU. Columns may come in any order,
/// and some may be missing; lines with another number of columns are passed over. At most 64 GPUs.
/// Empty where there is no such table, for example for an error message.
[[nodiscard]] std::vector<GpuHealth> parse_gpu_query(std::string_view csv);

/// Adds what the other two print to the GPUs of the same UUID.
void add_remapped_rows(std::string_view csv, std::vector<GpuHealth>& gpus);
void add_gpu_processes(std::string_view csv, std::vector<GpuHealth>& gpus);

/// Faults in a kernel log, oldest first, in the form of dmesg(1) or of /dev/kmsg; the last 64.
[[nodiscard]] std::vector<XidEvent> parse_xids(std::string_view kernel_log);

/// Whether an Xid says that a GPU, its memory or a link is broken; most others are those of a
/// program that has made a mistake. Source: NVIDIA, "XID Errors", "Common XID Errors".
[[nodiscard]] bool is_fault_of_hardware(int xid);

/// "power is capped at 300 W of 700 W" where that is so of all of them alike: somebody has meant it
/// (nvidia-smi --power-limit), and it is no fault. Else empty.
[[nodiscard]] std::string common_power_cap(const std::vector<GpuHealth>& gpus);

/// What is wrong with a GPU, one sentence each, worst first; empty: nothing that is seen. Processes
/// on it are named, because nothing runs there on dlaunch's behalf when it looks. `cap_is_meant`:
/// there is a common_power_cap().
[[nodiscard]] std::vector<std::string> health_findings(const GpuHealth& gpu,
                                                       bool cap_is_meant = false);

}  // namespace dlaunch::fabric
