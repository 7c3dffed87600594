#include "launch/session/node_clock.h"

#include <algorithm>

namespace dlaunch {

namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kSamples = 16;
// Two clocks that are being slewed: adjtime(3) changes each by at most 500 ppm.
constexpr std::int64_t kDriftPerMillion = 1000;

}  // namespace

void NodeClock::add(const wire::Heartbeat& beat, MonotonicTime monotonic, WallTime wall) {
  const MonotonicTime sent{static_cast<std::int64_t>(beat.echo)};
  const nanoseconds held{static_cast<std::int64_t>(beat.held)};
  if (beat.echo == 0 || sent.count() < 0 || sent > monotonic || held.count() < 0) return;
  const nanoseconds way = monotonic - sent - held;
  if (way.count() < 0) return;
  latest_ = monotonic;
  const nanoseconds back = way / 2;
  const Sample fresh{monotonic, beat.at - (wall - back), back + nanoseconds(1)};
  // The clock was set: earlier measurements are meaningless.
  std::erase_if(samples_, [&](const Sample& old) {
    return std::chrono::abs(old.offset - fresh.offset) > error_now(old) + fresh.error;
  });
  if (samples_.size() == kSamples) samples_.erase(samples_.begin());
  samples_.push_back(fresh);
}

nanoseconds NodeClock::error_now(const Sample& sample) const {
  return sample.error + (latest_ - sample.at) / 1'000'000 * kDriftPerMillion;
}

const NodeClock::Sample* NodeClock::best() const {
  const auto found = std::min_element(
      samples_.begin(), samples_.end(),
      [this](const Sample& a, const Sample& b) { return error_now(a) < error_now(b); });
  return found == samples_.end() ? nullptr : &*found;
}

nanoseconds NodeClock::offset() const {
  const Sample* sample = best();
  return ours_ || sample == nullptr ? nanoseconds(0) : sample->offset;
}

nanoseconds NodeClock::error() const {
  if (ours_) return nanoseconds(0);
  const Sample* sample = best();
  return sample == nullptr ? kUnknown : error_now(*sample);
}

WallTime NodeClock::corrected(WallTime there) {
  WallTime here = there - offset();
  if (last_there_ != WallTime() && there == last_there_) return last_here_;
  if (there > last_there_ && last_here_ != WallTime())
    here = std::max(here, last_here_ + nanoseconds(1));
  last_there_ = there;
  last_here_ = here;
  return here;
}

}  // namespace dlaunch
