// What one processor core and the memory beside it do, for finding nodes that are slower than the
// others; no benchmark.
#pragma once

#include "collectives/program/watchdog.h"

namespace dlaunch::collectives {

struct NodeSpeed {
  double gflops = 0;      // multiplications and additions of floats by one core, 10^9/s
  double memory_gbs = 0;  // copied by one core, 10^9 bytes/s; 0: no memory to be had
};

/// Takes about 0.2 s. The time is long enough for a limit on the processor's time (cgroups count in
/// periods of 0.1 s) to be seen.
[[nodiscard]] NodeSpeed measure_node(Watchdog& watchdog);

}  // namespace dlaunch::collectives
