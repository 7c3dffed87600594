// The speed of one processor core and its memory, to find nodes that are slower than the others;
// not a benchmark.
#pragma once

#include "measure/collectives/program/watchdog.h"

namespace dlaunch::collectives {

struct NodeSpeed {
  double gflops = 0;      // multiplications and additions of floats by one core, 10^9/s
  double memory_gbs = 0;  // copied by one core, 10^9 bytes/s; 0: not enough memory
};

/// Takes about 0.2 s, long enough to show a limit on CPU time, which cgroups enforce in periods of
/// 0.1 s.
[[nodiscard]] NodeSpeed measure_node(Watchdog& watchdog);

}  // namespace dlaunch::collectives
