// All speed figures of this machine, and the line of JSON that carries them from the measuring
// process to the process that shows them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/speed/cpu_speed.h"
#include "measure/speed/gpu_speed.h"
#include "text/json_text.h"

namespace dlaunch::speed {

struct LocalSpeed {
  CpuSpeed cpu;
  std::vector<GpuSpeed> gpus;   // those that CUDA_VISIBLE_DEVICES leaves, in CUDA's order
  std::string no_gpus;          // why there are none; empty if there are some
  bool gpus_not_tried = false;  // see GpuCount::not_tried
};

/// Takes about a second; with GPUs, two seconds and a quarter of a second more for each GPU.
[[nodiscard]] LocalSpeed measure_local();

/// The members of an object.
void write_figures(JsonText& json, const GpuSpeed& gpu);

/// One line, without a newline.
[[nodiscard]] std::string to_json(const LocalSpeed& speed);
/// nullopt: a line that to_json() did not write.
[[nodiscard]] std::optional<LocalSpeed> read_local_speed(std::string_view line);

}  // namespace dlaunch::speed
