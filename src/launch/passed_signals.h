// Which of a scheduler's signals that end nothing (USR1, USR2) are forwarded to the ranks. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "model/time.h"

namespace dlaunch {

class PassedSignals {
 public:
  /// The process that the user started received the signal, which counts in any case.
  void came_to_front(int signal, MonotonicTime now);
  /// A step of the scheduler on a node reports a signal (`origin`: a different number for each
  /// step). True: forward it. All nodes report the same signal, on a busy machine seconds apart;
  /// how often this node has reported it shows whether another node has done so already. The
  /// guardian and the agent of a node may both report a signal, and so may the front if the
  /// scheduler signals the script, all within a moment.
  [[nodiscard]] bool came_from_node(std::uint32_t origin, int signal, MonotonicTime now);

 private:
  struct Told {
    std::uint32_t times = 0;
    MonotonicTime last{0};
  };
  std::map<std::pair<std::uint32_t, int>, Told> told_;  // by origin and signal
  std::map<int, std::uint32_t> passed_;                 // the most that any node has reported
  std::map<int, MonotonicTime> front_;
};

}  // namespace dlaunch
