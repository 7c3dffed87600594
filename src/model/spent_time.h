// What the time of a run has gone to. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/time.h"

namespace dlaunch {

/// Each moment of a run belongs to one of these.
enum class Spent : std::uint8_t {
  connect,       // nodes are connected for the first attempt
  prepare,       // checks, copying and the plan of the first attempt
  start,         // its ranks are started, until the last one runs
  first_output,  // in each attempt: until a rank has printed, or changed its heartbeat file
  productive,    // ranks run, and that is all that is known
  recomputed,    // ... up to the metric `step` that an earlier attempt had reached
  stalled,       // ... without progress; a lost node's silence, too
  stopping,      // an attempt has failed or is over, and ranks are being stopped
  back_off,      // the wait before a restart
  lost_nodes,    // waiting for lost nodes to return
  restarting,    // from the end of the wait until the last rank of the next attempt runs
};

inline constexpr std::size_t kSpentLines = 11;

/// Index = Spent.
using SpentTimes = std::array<MonotonicTime, kSpentLines>;

/// As summary.json spells it.
[[nodiscard]] const char* name_of(Spent);

}  // namespace dlaunch
