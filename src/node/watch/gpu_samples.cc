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
constexpr std::array kReasons{Reason{"hw_thermal_slowdown", "heat"},
                              Reason{"sw_thermal_slowdown", "heat"},
                              Reason{"hw_power_brake_slowdown", "the power supply"}};
constexpr std::size_t kFirstReason = 4;

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

}  // namespace

std::vector<std::string> gpu_samples_command(unsigned seconds, bool old_names) {
  std::string query = "--query-gpu=index,uuid,utilization.gpu,memory.used";
  for (const Reason& reason : kReasons) {
    query += old_names ? ",clocks_throttle_reasons." : ",clocks_event_reasons.";
    query += reason.name;
  }
  return {"nvidia-smi", query, "--format=csv,noheader,nounits", "-l", std::to_string(seconds)};
}

std::optional<GpuSample> parse_gpu_sample(std::string_view line) {
  std::vector<std::string_view> cells;
  while (!line.empty() && cells.size() <= kFirstReason + kReasons.size())
    cells.push_back(trimmed(take_until(line, ',')));
  if (cells.size() != kFirstReason + kReasons.size()) return std::nullopt;
  const auto index = number_of<std::uint32_t>(cells[0]);
  if (!index) return std::nullopt;
  constexpr unsigned kMebi = 20;
  constexpr std::uint64_t kMost = 100;
  GpuSample gpu{*index, fabric::plain_or_empty(cells[1], 64), -1,
                fabric::number_in(cells[3]).value_or(0) << kMebi, ""};
  if (const auto percent = fabric::number_in(cells[2]))
    gpu.percent = static_cast<std::int32_t>(std::min(*percent, kMost));
  for (std::size_t i = 0; i < kReasons.size(); ++i) {
    const std::string words = kReasons[i].words;
    if (cells[kFirstReason + i] != "Active") continue;
    if (gpu.slowed_by.find(words) != std::string::npos) continue;
    gpu.slowed_by += (gpu.slowed_by.empty() ? "" : ", ") + words;
  }
  return gpu;
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
