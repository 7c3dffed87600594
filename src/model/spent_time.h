// How the time of a run was spent. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/time.h"

namespace dlaunch {

/// Each moment of a run belongs to one of these.
enum class Spent : std::uint8_t {
  connect,       // nodes are connected for the first attempt
  prepare,       // checks, copying and the plan of the first attempt
  start,         // its ranks are started, until the last one runs
  first_output,  // in each attempt: until a rank has printed, or changed its heartbeat file
  productive,    // ranks run; nothing more is known
  recomputed,    // ... up to the metric `step` that an earlier attempt had reached
  stalled,       // ... without progress; a lost node's silence, too
  stopping,      // an attempt has failed or is over, and ranks are being stopped
  back_off,      // the wait before a restart
  lost_nodes,    // waiting for lost nodes to return
  restarting,    // from the end of the wait until the last rank of the next attempt runs
};

struct SpentWords {
  std::string_view key;   // in summary.json
  std::string_view what;  // "47 s WHAT"
};

/// Index = Spent.
inline constexpr std::array kSpentWords{
    SpentWords{"connect_s", "connecting"},
    SpentWords{"prepare_s", "preparing"},
    SpentWords{"start_s", "starting"},
    SpentWords{"first_output_s", "until the first output"},
    SpentWords{"productive_s", "productive"},
    SpentWords{"recomputed_s", "recomputed"},
    SpentWords{"stalled_s", "stalled"},
    SpentWords{"stopping_s", "stopping"},
    SpentWords{"back_off_s", "waiting to restart"},
    SpentWords{"lost_nodes_s", "waiting for lost nodes"},
    SpentWords{"restarting_s", "restarting"},
};

/// Index = Spent.
using SpentTimes = std::array<MonotonicTime, kSpentWords.size()>;

}  // namespace dlaunch
