// The use of GPUs as nvidia-smi reports it repeatedly. Pure; any text is allowed. Source:
// `nvidia-smi --help-query-gpu`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/pulse.h"

namespace dlaunch {

struct GpuSample {
  std::uint32_t index = 0;
  std::string uuid;
  std::int32_t percent = -1;  // -1: unknown
  std::uint64_t memory = 0;   // bytes in use, by any process
  std::string slowed_by;      // "heat, the power supply"; empty: its clocks are not held down
  bool operator==(const GpuSample&) const = default;
};

/// The program with its arguments: it prints a line for each GPU every `seconds`. `old_names`:
/// drivers before 535 name the reasons for lower clocks differently, and refuse unknown names.
[[nodiscard]] std::vector<std::string> gpu_samples_command(unsigned seconds, bool old_names);

/// nullopt: the line is something else, such as an error message.
[[nodiscard]] std::optional<GpuSample> parse_gpu_sample(std::string_view line);

/// The use of a rank's GPUs: `visible` is its CUDA_VISIBLE_DEVICES, nullopt: all GPUs. If several
/// ranks of a node see several GPUs each, each rank uses the GPU whose index is its local rank, as
/// frameworks choose it.
void add_gpu_use(std::span<const GpuSample> gpus, const std::optional<std::string>& visible,
                 std::uint32_t local_rank, bool is_alone, RankPulse& rank);

}  // namespace dlaunch
