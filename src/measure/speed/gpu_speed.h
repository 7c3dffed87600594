// A short measurement of GPUs, to compare those that should be equal; not a benchmark.
#pragma once

#include <string>
#include <vector>

namespace dlaunch::speed {

struct GpuSpeed {
  std::string uuid;   // "GPU-...", as nvidia-smi has it
  std::string model;  // "NVIDIA H100 80GB HBM3"
  // Copies of 64 MiB in one direction, 10^9 bytes per second; host memory is pinned. A copy within
  // the GPU counts reading and writing.
  double to_device_gbyte_s = 0;
  double to_host_gbyte_s = 0;
  double within_gbyte_s = 0;
  // Matrix products by a simple kernel, 10^12 operations per second: about half of what cuBLAS
  // reaches, but equal on equal GPUs.
  double float32_tflop_s = 0;
  double float16_tflop_s = 0;  // on tensor cores, sums in float32
  bool is_right = true;        // false: a product or a copy was wrong
  std::string problem;         // CUDA's error message; empty: none
};

/// The number of GPUs that this process can use, or why there are none. A missing or old driver is
/// not an error.
struct GpuCount {
  int count = 0;
  std::string none_because;  // one line; empty if there are some
  /// The reason is this dlaunch, which was built without CUDA or with a newer one than the driver
  /// supports; the machine may be healthy.
  bool not_tried = false;
};
[[nodiscard]] GpuCount count_gpus();

/// `device`: from 0 below count_gpus(). Takes half a second, mostly for the driver's start, and
/// another half the first time on a machine, when the driver compiles the kernels. Uses 300 MiB of
/// GPU memory.
[[nodiscard]] GpuSpeed measure_gpu(int device);

/// Measures GPUs 0 to count - 1, in this order. All GPUs compute products at the same time; the
/// copies run on one GPU after the other, since several may share a path to the host: a quarter of
/// a second each.
[[nodiscard]] std::vector<GpuSpeed> measure_gpus(int count);

}  // namespace dlaunch::speed
