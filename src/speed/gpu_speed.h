// How fast a GPU is, found by a short look: for comparing GPUs that should be alike, not for data
// sheets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlaunch::speed {

struct GpuSpeed {
  std::string uuid;   // "GPU-...", as nvidia-smi has it
  std::string model;  // "NVIDIA H100 80GB HBM3"
  // Copies of 64 MiB in one direction, 10^9 bytes a second; the host's memory is pinned. A copy
  // within the GPU reads and writes, and both count.
  double to_device_gbyte_s = 0;
  double to_host_gbyte_s = 0;
  double within_gbyte_s = 0;
  // Products of matrices by a plain kernel, 10^12 operations a second: about half of what cuBLAS
  // reaches, but the same on like GPUs.
  double float32_tflop_s = 0;
  double float16_tflop_s = 0;  // on tensor cores, sums in float32
  bool is_right = true;        // false: a product or a copy was wrong
  std::string problem;         // what has failed, in CUDA's words; empty: nothing
};

/// GPUs that this process may use, and why there are none; a driver that is not there or too old is
/// no error.
struct GpuCount {
  int count = 0;
  std::string none_because;  // one line; empty where there are some
  /// It is this dlaunch that lacks something: it was built without CUDA, or with a newer one than
  /// the driver knows. The machine may be well.
  bool not_tried = false;
};
[[nodiscard]] GpuCount count_gpus();

/// `device` counts from 0 below count_gpus(). Takes half a second, most of it the driver's start;
/// another one at the first time on a machine, where the driver translates the kernels. 300 MiB of
/// the GPU's memory, given back.
[[nodiscard]] GpuSpeed measure_gpu(int device);

/// All of them, in this order. The products are made by all at once, and then come the copies, one
/// GPU after the other, since several may share a way to the host: a quarter of a second each.
[[nodiscard]] std::vector<GpuSpeed> measure_gpus(int count);

}  // namespace dlaunch::speed
