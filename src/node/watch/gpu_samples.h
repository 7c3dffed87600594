// The use and condition of GPUs as dlaunch-nvml (node/nvml/main.cc) or nvidia-smi reports them
// repeatedly. Pure; any text is allowed. Source: `nvidia-smi --help-query-gpu`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/pulse.h"

namespace dlaunch {

/// nullopt: unknown.
struct GpuSample {
  std::uint32_t index = 0;
  std::string uuid;
  std::int32_t percent = -1;  // -1: unknown
  std::uint64_t memory = 0;   // bytes in use, by any process
  std::string slowed_by;      // "heat, the power supply"; empty: its clocks are not held down
  bool is_lost = false;       // the driver cannot reach it any more
  bool needs_reset = false;   // nothing can use it before
  std::optional<std::uint64_t> temperature_c{}, sm_mhz{}, most_sm_mhz{};
  std::optional<std::uint64_t> memory_errors{};  // uncorrected, since the driver was loaded
  std::optional<std::uint64_t> pcie_errors{};    // what had to be sent again
  std::optional<std::uint64_t> nvlink_errors{};  // the same, and recoveries of links
  bool operator==(const GpuSample&) const = default;
};

/// What is asked, best first: dlaunch-nvml, then nvidia-smi. Drivers before 535 name the reasons
/// for lower clocks differently, and their nvidia-smi refuses unknown names.
enum class GpuSource { nvml, smi, smi_with_old_names, none };

/// What is asked when the program of a source has ended. `has_told`: it has reported a GPU.
[[nodiscard]] GpuSource source_after(GpuSource ended, bool has_told);

/// nvidia-smi with its arguments: it prints a line for each GPU every `seconds`.
[[nodiscard]] std::vector<std::string> gpu_samples_command(unsigned seconds, bool old_names);

/// A line of either program. nullopt: the line is something else, such as an error message.
[[nodiscard]] std::optional<GpuSample> parse_gpu_sample(std::string_view line);

/// What is wrong with the GPUs, one sentence for each finding. `before`: their first samples, taken
/// `passed` ago, because errors of earlier jobs explain nothing.
[[nodiscard]] std::vector<std::string> gpu_remarks(std::span<const GpuSample> now,
                                                   std::span<const GpuSample> before,
                                                   std::chrono::seconds passed);

/// The use of a rank's GPUs: `visible` is its CUDA_VISIBLE_DEVICES, nullopt: all GPUs. If several
/// ranks of a node see several GPUs each, each rank uses the GPU whose index is its local rank, as
/// frameworks choose it.
void add_gpu_use(std::span<const GpuSample> gpus, const std::optional<std::string>& visible,
                 std::uint32_t local_rank, bool is_alone, RankPulse& rank);

}  // namespace dlaunch
