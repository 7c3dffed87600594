// How fast two ranks exchange: latency and bandwidth, both ways at once, in some tens of
// milliseconds.
#pragma once

#include <string>

#include "collectives/program/memory.h"
#include "collectives/program/team.h"
#include "collectives/program/watchdog.h"
#include "dlaunch/collectives/communicator.h"
#include "measure/outliers.h"

namespace dlaunch::collectives {

/// One of the two ranks.
struct PairSide {
  measure::Pair pair;  // of nodes
  bool leads = false;  // says how much and how long; the one has the figures
  int other = 0;       // rank in the team's world
  std::string what;    // for the watchdog
};

/// Called by both ranks at once. The result's figures are 0 at the one that does not lead.
[[nodiscard]] Result<measure::Exchange> measure_pair(Team& team, Watchdog& watchdog,
                                                     const PairSide& side);

[[nodiscard]] Status no_memory_for_buffers();

}  // namespace dlaunch::collectives
