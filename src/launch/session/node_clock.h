// How much a node's wall clock differs from ours, and how well that is known. Pure; one thread at a
// time.
//
// Cristian's method: one of our heartbeats arrived at the node, which sent the echo `held` later;
// the node's time in the echo belongs to a moment on our clock within the round trip. Of the latest
// samples, the one with the smallest possible error counts: it follows from the round trip and from
// what the clocks may have drifted since.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "model/time.h"
#include "wire/message.h"

namespace dlaunch {

class NodeClock {
 public:
  /// Possible error of a clock about which nothing is known.
  static constexpr std::chrono::nanoseconds kUnknown = std::chrono::hours(24);

  /// The node is this machine.
  void is_ours() { ours_ = true; }
  /// A heartbeat of the node arrived at `monotonic`, `wall` on our clocks; without an echo it
  /// carries no information. Impossible values are ignored.
  void add(const wire::Heartbeat& beat, MonotonicTime monotonic, WallTime wall);

  /// The node's clock minus ours.
  [[nodiscard]] std::chrono::nanoseconds offset() const;
  /// The maximum error of offset().
  [[nodiscard]] std::chrono::nanoseconds error() const;

  /// A time of the node on our clock. Times of the node keep their order, and equal ones stay
  /// equal, whatever was learnt about its clock in between: on one node the order is known exactly.
  [[nodiscard]] WallTime corrected(WallTime there);

 private:
  struct Sample {
    MonotonicTime at{};
    std::chrono::nanoseconds offset{};
    std::chrono::nanoseconds error{};
  };
  [[nodiscard]] std::chrono::nanoseconds error_now(const Sample& sample) const;
  [[nodiscard]] const Sample* best() const;

  bool ours_ = false;
  std::vector<Sample> samples_;  // the oldest first
  MonotonicTime latest_{};
  WallTime last_there_{};
  WallTime last_here_{};
};

}  // namespace dlaunch
