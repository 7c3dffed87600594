#include "node/watch/gpu_samples.h"

#include <algorithm>
#include <array>

#include "fabric/gpu_health_report.h"
#include "fabric/tree.h"
#include "os/proc_file.h"
#include "text/number.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

struct Reason {
  const char* name;
  const char* words;
};
constexpr std::array kReasons{
    Reason{"hw_thermal_slowdown", "heat"}, Reason{"sw_thermal_slowdown", "heat"},
    Reason{"hw_power_brake_slowdown", "the power supply"},
    // Set together with the others; alone, it means that the GPU drew too much power.
    Reason{"hw_slowdown", "its own power draw"}};
constexpr std::size_t kFirstReason = 4;
constexpr std::size_t kAfterReasons = kFirstReason + kReasons.size();
constexpr const char* kOtherColumns =
    ",temperature.gpu,clocks.sm,clocks.max.sm,ecc.errors.uncorrected.volatile.total";
constexpr std::size_t kColumns = kAfterReasons + 4;
constexpr std::size_t kNvmlColumns = kColumns + 2;  // errors of PCIe and NVLink

bool is_named(const GpuSample& gpu, std::string_view entry) {
  if (const auto index = number_of<std::uint32_t>(entry)) return gpu.index == *index;
  return !entry.empty() && gpu.uuid.starts_with(entry);
}

/// The GPUs that the variable names, in its order.
std::vector<const GpuSample*> seen_by(std::span<const GpuSample> gpus,
                                      const std::optional<std::string>& visible) {
  std::vector<const GpuSample*> seen;
  if (!visible) {
    for (const GpuSample& gpu : gpus) seen.push_back(&gpu);
    return seen;
  }
  std::string_view rest = *visible;
  while (!rest.empty()) {
    const std::string_view entry = trimmed(take_until(rest, ','));
    const auto found = std::find_if(gpus.begin(), gpus.end(),
                                    [&](const GpuSample& gpu) { return is_named(gpu, entry); });
    if (found == gpus.end()) break;
    seen.push_back(&*found);
  }
  return seen;
}

/// " (91 C, 945 of 1980 MHz)", or the part that is known.
std::string clock_text(const GpuSample& gpu) {
  std::vector<std::string> parts;
  if (gpu.temperature_c) parts.push_back(std::to_string(*gpu.temperature_c) + " C");
  if (gpu.sm_mhz && gpu.most_sm_mhz)
    parts.push_back(std::to_string(*gpu.sm_mhz) + " of " + std::to_string(*gpu.most_sm_mhz) +
                    " MHz");
  return parts.empty() ? "" : " (" + joined(parts) + ")";
}

std::uint64_t growth(const std::optional<std::uint64_t>& before,
                     const std::optional<std::uint64_t>& now) {
  return before && now && *now > *before ? *now - *before : 0;
}

}  // namespace

GpuSource source_after(GpuSource ended, bool has_told) {
  if (ended == GpuSource::nvml) return GpuSource::smi;
  return ended == GpuSource::smi && !has_told ? GpuSource::smi_with_old_names : GpuSource::none;
}

std::vector<std::string> gpu_samples_command(unsigned seconds, bool old_names) {
  std::string query = "--query-gpu=index,uuid,utilization.gpu,memory.used";
  for (const Reason& reason : kReasons) {
    query += old_names ? ",clocks_throttle_reasons." : ",clocks_event_reasons.";
    query += reason.name;
  }
  query += kOtherColumns;
  return {"nvidia-smi", query, "--format=csv,noheader,nounits", "-l", std::to_string(seconds)};
}

std::optional<GpuSample> parse_gpu_sample(std::string_view line) {
  std::vector<std::string_view> cells;
  while (!line.empty() && cells.size() <= kNvmlColumns)
    cells.push_back(trimmed(take_until(line, ',')));
  if (cells.size() != kColumns && cells.size() != kNvmlColumns) return std::nullopt;
  const auto index = number_of<std::uint32_t>(cells[0]);
  if (!index) return std::nullopt;
  const auto number = [&](std::size_t column) {
    return column < cells.size() ? fabric::number_in(cells[column]) : std::nullopt;
  };
  constexpr unsigned kMebi = 20;
  constexpr std::uint64_t kMost = 100;
  GpuSample gpu{*index, fabric::plain_or_empty(cells[1], 64), -1, number(3).value_or(0) << kMebi,
                ""};
  if (const auto percent = number(2))
    gpu.percent = static_cast<std::int32_t>(std::min(*percent, kMost));
  for (std::size_t i = 0; i < kReasons.size(); ++i) {
    const std::string_view words = kReasons[i].words;
    if (cells[kFirstReason + i] != "Active" || gpu.slowed_by.find(words) != std::string::npos)
      continue;
    if (i + 1 == kReasons.size() && !gpu.slowed_by.empty()) continue;
    gpu.slowed_by.append(gpu.slowed_by.empty() ? "" : ", ").append(words);
  }
  gpu.is_lost = contains(cells, "[GPU is lost]");
  gpu.needs_reset = contains(cells, "[GPU requires reset]");
  gpu.temperature_c = number(kAfterReasons);
  gpu.sm_mhz = number(kAfterReasons + 1);
  gpu.most_sm_mhz = number(kAfterReasons + 2);
  gpu.memory_errors = number(kAfterReasons + 3);
  gpu.pcie_errors = number(kColumns);
  gpu.nvlink_errors = number(kColumns + 1);
  return gpu;
}

std::vector<std::string> gpu_remarks(std::span<const GpuSample> now,
                                     std::span<const GpuSample> before,
                                     std::chrono::seconds passed) {
  // Limits of NVIDIA's DCGM (dcgm_gpu_hardware_limits.h): 8 replays of PCIe per minute, one error
  // of NVLink.
  constexpr std::uint64_t kPciePerMinute = 8;
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(passed).count() + 1;
  const std::uint64_t most_pcie = kPciePerMinute * static_cast<std::uint64_t>(minutes);
  std::vector<std::string> remarks;
  for (const GpuSample& gpu : now) {
    const std::string name = "GPU " + std::to_string(gpu.index);
    if (gpu.is_lost) remarks.push_back(name + " is lost: the driver cannot reach it any more");
    if (gpu.needs_reset) remarks.push_back(name + " needs a reset before anything can use it");
    if (!gpu.slowed_by.empty())
      remarks.push_back(name + ": its clocks are held down: " + gpu.slowed_by + clock_text(gpu));
    const auto first = std::find_if(before.begin(), before.end(), [&gpu](const GpuSample& other) {
      return other.index == gpu.index;
    });
    if (first == before.end()) continue;
    const auto add = [&](std::uint64_t errors, std::uint64_t most, const char* what) {
      if (errors > most)
        remarks.push_back(name + ": " + counted(errors, what) + " since the ranks started");
    };
    add(growth(first->memory_errors, gpu.memory_errors), 0, "uncorrected memory error");
    add(growth(first->nvlink_errors, gpu.nvlink_errors), 0, "NVLink error");
    add(growth(first->pcie_errors, gpu.pcie_errors), most_pcie, "PCIe error");
  }
  return remarks;
}

void add_gpu_use(std::span<const GpuSample> gpus, const std::optional<std::string>& visible,
                 std::uint32_t local_rank, bool is_alone, RankPulse& rank) {
  std::vector<const GpuSample*> its = seen_by(gpus, visible);
  if (!is_alone && its.size() > 1) its = {its[local_rank % its.size()]};
  rank.gpu_percent = -1;
  rank.gpu_memory = 0;
  for (const GpuSample* gpu : its) {
    rank.gpu_percent = std::max(rank.gpu_percent, gpu->percent);
    rank.gpu_memory += gpu->memory;
  }
}

}  // namespace dlaunch
