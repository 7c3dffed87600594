#include "launch/watch/samples_side.h"

#include <utility>

#include "os/clock.h"

namespace dlaunch {

namespace {
constexpr std::chrono::minutes kEvery{1};
}  // namespace

void SamplesSide::begin(const LaunchPlan& plan, MonotonicTime now) {
  if (std::exchange(has_begun_, true) && attempt_ == plan.attempt) return;
  attempt_ = plan.attempt;
  samples_.begin(plan, now - began_);
}

void SamplesSide::on(NodeId node, const wire::Pulse& pulse, MonotonicTime now) {
  if (!has_begun_ || pulse.attempt != attempt_) return;
  samples_.add(node, pulse.node, pulse.ranks, now - began_);
  if (now - written_ >= kEvery) write();
}

void SamplesSide::write() {
  const MonotonicTime now = monotonic_now();
  written_ = now;
  if (samples_.empty()) return;
  const std::string text = samples_.json(wall_now() - (now - began_));
  has_failed_ = has_failed_ ? !store_.folder().write("samples.json", text)
                            : !store_.write("samples.json", text);
}

}  // namespace dlaunch
