// Parses the output of nvidia-smi and the NVIDIA driver's messages in the kernel's log. Pure.
// Sources: `nvidia-smi --help-query-gpu`, `--help-query-remapped-rows`,
// `--help-query-compute-apps`; NVIDIA, "XID Errors".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/gpu_health.h"

namespace dlaunch::fabric {

/// A table of nvidia-smi --format=csv: a line of names ("power.limit [W]"), then lines of values,
/// separated by commas and spaces, without quotes.
/// Keeps references into the text, which must outlive the table. The line of names is the first
/// that contains all of `needed`; warnings may precede it. Skips lines that have more or fewer
/// values than names; reads at most 4096 lines.
class Csv {
 public:
  Csv(std::string_view text, std::initializer_list<std::string_view> needed);

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] bool has(std::string_view name) const { return column(name).has_value(); }
  /// Empty if there is no such column.
  [[nodiscard]] std::string_view at(std::size_t row, std::string_view name) const;

 private:
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;
  std::vector<std::string_view> names_;
  std::vector<std::vector<std::string_view>> rows_;
};

/// A number without sign, truncated to an integer; nullopt for "[N/A]", "[Not Supported]" and the
/// like.
[[nodiscard]] std::optional<std::uint64_t> number_in(std::string_view text);

/// Arguments for nvidia-smi. `old_names`: for drivers before 535, which call the reasons for lower
/// clocks clocks_throttle_reasons. One unknown name makes the whole query fail.
[[nodiscard]] std::vector<std::string> gpu_query(bool old_names);
[[nodiscard]] std::vector<std::string> remapped_rows_query();
[[nodiscard]] std::vector<std::string> gpu_processes_query();

/// The output of gpu_query(): a line of names, then one for each GPU. Columns may be missing or in
/// any order; lines with a different number of columns are skipped. At most 64 GPUs. Empty if `csv`
/// is no such table but, for example, an error message.
[[nodiscard]] std::vector<GpuHealth> parse_gpu_query(std::string_view csv);

/// Each adds the output of its query to the GPUs with the same UUID.
void add_remapped_rows(std::string_view csv, std::vector<GpuHealth>& gpus);
void add_gpu_processes(std::string_view csv, std::vector<GpuHealth>& gpus);

/// The last 64 faults, oldest first, in a kernel log in the format of dmesg(1) or /dev/kmsg.
[[nodiscard]] std::vector<XidEvent> parse_xids(std::string_view kernel_log);

/// "Xid 79 on 0000:83:00.0: the GPU has fallen off the bus"; without the explanation if the number
/// is not in the table.
[[nodiscard]] std::string describe(const XidEvent& fault);

/// Whether an Xid means that a GPU, its memory or a link is broken. Most other Xids are faults of
/// programs. Source: NVIDIA, "XID Errors", "Common XID Errors".
[[nodiscard]] bool is_fault_of_hardware(int xid);

/// "power is capped at 300 W of 700 W" if that is true of all GPUs; else empty. Such a cap is
/// intended (nvidia-smi --power-limit) and not a fault.
[[nodiscard]] std::string common_power_cap(const std::vector<GpuHealth>& gpus);

/// What is wrong with a GPU, one sentence for each finding, worst first. Also names processes on
/// the GPU, because dlaunch itself runs none on a GPU during the check. `cap_is_meant`: there is a
/// common_power_cap().
[[nodiscard]] std::vector<std::string> health_findings(const GpuHealth& gpu,
                                                       bool cap_is_meant = false);

}  // namespace dlaunch::fabric
