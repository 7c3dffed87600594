#include "launch/engine/last_limit.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace dlaunch {

namespace {

// Time that a busy machine may add to the supervisor's own limits.
constexpr Duration kSlack = std::chrono::seconds(5);

MonotonicTime later(MonotonicTime from, Duration by) {
  const MonotonicTime farthest = MonotonicTime::max();
  return by >= std::chrono::duration_cast<Duration>(farthest - from) ? farthest : from + by;
}

}  // namespace

void LastLimit::note(const Event& event, MonotonicTime now) {
  if (!std::holds_alternative<event::CancelSignal>(event) &&
      !std::holds_alternative<event::FrontGone>(event))
    return;
  const MonotonicTime killed = later(now, limits_.end_limit + kSlack);
  due_ = due_ ? std::min(*due_, killed) : later(killed, limits_.stop_grace);
}

bool LastLimit::is_over(MonotonicTime now) {
  if (!due_ || now < *due_) return false;
  if (std::exchange(extended_, true)) return true;
  due_ = later(now, limits_.end_limit + kSlack);
  return false;
}

}  // namespace dlaunch
