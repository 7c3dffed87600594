// A short measurement of the CPUs and the memory of this machine, to compare nodes that should be
// equal; not a benchmark.
#pragma once

#include <chrono>
#include <cstdint>

namespace dlaunch::speed {

struct CpuSpeed {
  int threads = 0;         // one for each CPU that this process may use
  double one_gflop_s = 0;  // float32 matrix products on one thread, 10^9 operations per second
  double all_gflop_s = 0;  // likewise on all of them at once
  double memory_gbyte_s =
      0;  // a[i] = b[i] + s * c[i] on all threads, counted as in STREAM: 24 bytes
  std::uint64_t memory_bytes = 0;  // of the three arrays together; 0: not enough memory
  bool is_right = true;            // false: a product was wrong, so a CPU or its memory is broken
};

/// Takes about 9 x `window`, and some time to prepare the memory. Each figure is the best of three
/// windows, since other processes only make it slower. The arrays take at most an eighth of the
/// free memory. Other threads of the process should be idle. Threads that cannot be created are
/// left out.
[[nodiscard]] CpuSpeed measure_cpu(std::chrono::milliseconds window = std::chrono::milliseconds{
                                       80});

}  // namespace dlaunch::speed
