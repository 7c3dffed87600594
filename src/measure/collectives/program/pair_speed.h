// Latency and bandwidth between two ranks, both ways at once, in a few tens of milliseconds.
#pragma once

#include <string>

#include "measure/collectives/program/team.h"
#include "measure/collectives/program/watchdog.h"
#include "measure/figures/outliers.h"

namespace dlaunch::collectives {

/// The view of one of the two ranks.
struct PairSide {
  measure::Pair pair;  // of nodes
  bool leads = false;  // decides sizes and repeats, and gets the figures
  int other = 0;       // rank in the team's world
  std::string what;    // for the watchdog
};

/// Called by both ranks at the same time. The figures are 0 at the rank that does not lead.
[[nodiscard]] Result<measure::Exchange> measure_pair(Team& team, Watchdog& watchdog,
                                                     const PairSide& side);

[[nodiscard]] Status no_memory_for_buffers();

}  // namespace dlaunch::collectives
