#include "sync/window.h"

#include <algorithm>

namespace dlaunch::sync {

void Window::restart() {
  sent_ = taken_ = quiet_until_ = 0;
  on_the_way_.clear();
}

void Window::sent(std::uint64_t cost, MonotonicTime now) {
  sent_ += cost;
  on_the_way_.push_back({sent_, now});
}

void Window::taken(std::uint64_t up_to, MonotonicTime now) {
  taken_ = std::clamp(up_to, taken_, sent_);
  while (!on_the_way_.empty() && on_the_way_.front().up_to <= taken_) {
    const Sent one = on_the_way_.front();
    on_the_way_.pop_front();
    const MonotonicTime took = now - one.at;
    if (took > delay_ && one.up_to > quiet_until_) {
      size_ = std::max(kLeast, size_ / 2);
      quiet_until_ = sent_;
    } else if (took < delay_ / 2) {
      size_ = std::min(most_, size_ + size_ / 8);
    }
  }
}

}  // namespace dlaunch::sync
