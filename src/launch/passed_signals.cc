#include "launch/passed_signals.h"

#include <algorithm>
#include <chrono>

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kMoment{5};

}  // namespace

void PassedSignals::came_to_front(int signal, MonotonicTime now) {
  front_[signal] = now;
}

bool PassedSignals::came_from_node(std::uint32_t origin, int signal, MonotonicTime now) {
  Told& told = told_[{origin, signal}];
  if (told.times > 0 && now - told.last < kMoment) return false;
  told.last = now;
  std::uint32_t& most = passed_[signal];
  if (++told.times <= most) return false;
  most = told.times;
  const auto front = front_.find(signal);
  return front == front_.end() || now - front->second >= kMoment;
}

}  // namespace dlaunch
