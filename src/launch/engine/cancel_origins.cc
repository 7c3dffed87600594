#include "launch/engine/cancel_origins.h"

#include <algorithm>
#include <chrono>
#include <csignal>

namespace dlaunch {

bool CancelOrigins::counts(CancelOrigin origin, int number, MonotonicTime now) {
  constexpr std::chrono::seconds kSameSignal{1};
  const auto mine = static_cast<std::size_t>(origin);
  const auto nodes = static_cast<std::size_t>(CancelOrigin::nodes);
  const bool first_of_mine = !at_[mine];
  bool others_just_now = number == SIGTERM && mine != nodes && at_[nodes];
  for (std::size_t i = 0; i < at_.size(); ++i)
    others_just_now = others_just_now || (i != mine && at_[i] && now - *at_[i] < kSameSignal);
  at_[mine] = now;
  return !(first_of_mine && others_just_now);
}

bool CancelOrigins::any() const {
  return std::any_of(at_.begin(), at_.end(), [](const auto& at) { return at.has_value(); });
}

}  // namespace dlaunch
