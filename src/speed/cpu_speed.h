// How fast the CPUs and the memory of this machine are, found by a short look: for comparing nodes
// that should be alike, not for data sheets.
#pragma once

#include <chrono>
#include <cstdint>

namespace dlaunch::speed {

struct CpuSpeed {
  int threads = 0;         // one for each CPU that this process may run on
  double one_gflop_s = 0;  // products of float32 matrices on one thread, 10^9 operations a second
  double all_gflop_s = 0;  // likewise on all of them at once
  double memory_gbyte_s =
      0;  // a[i] = b[i] + s * c[i] on all threads, counted as in STREAM: 24 bytes
  std::uint64_t memory_bytes = 0;  // of the three arrays together; 0: there was no memory for them
  bool is_right = true;            // false: a product was wrong, so a CPU or its memory is broken
};

/// Takes about three times 3 x `window`, and a moment for preparing the memory; each figure is the
/// best of three windows, because whatever else runs on the machine makes it slower only. The
/// arrays are at most an eighth of the memory that is left. The process may have other threads;
/// they should rest. Threads that cannot be had are left out.
[[nodiscard]] CpuSpeed measure_cpu(std::chrono::milliseconds window = std::chrono::milliseconds{
                                       80});

}  // namespace dlaunch::speed
