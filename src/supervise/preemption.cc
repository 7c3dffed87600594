#include "supervise/preemption.h"

#include <algorithm>

namespace dlaunch {

Duration grace_after_notice(std::optional<Duration> left, Duration stop_grace) {
  constexpr Duration kLeast = std::chrono::seconds(1);
  constexpr Duration kMost = std::chrono::seconds(3);
  constexpr int kPart = 10;
  if (!left) return stop_grace;
  return std::max(*left - std::clamp(*left / kPart, kLeast, kMost), Duration(0));
}

}  // namespace dlaunch
