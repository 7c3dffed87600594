// All figures of this machine, and how they get from the process that has measured to the one that
// shows them: one line of JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "speed/cpu_speed.h"
#include "speed/gpu_speed.h"

namespace dlaunch::speed {

struct LocalSpeed {
  CpuSpeed cpu;
  std::vector<GpuSpeed> gpus;   // in CUDA's order: those that CUDA_VISIBLE_DEVICES leaves
  std::string no_gpus;          // why there are none; empty where there are some
  bool gpus_not_tried = false;  // see GpuCount::not_tried
};

/// Takes about a second, another one where there are GPUs, and a quarter of one for each of these.
[[nodiscard]] LocalSpeed measure_local();

/// One line, without its end.
[[nodiscard]] std::string to_json(const LocalSpeed& speed);
/// nullopt: not what to_json() has written.
[[nodiscard]] std::optional<LocalSpeed> read_local_speed(std::string_view line);

}  // namespace dlaunch::speed
