// How far a node's wall clock is from ours, and how well that is known. Pure; one thread at a time.
//
// Cristian's method: a heartbeat of ours came there, its echo came back `held` later; the node's
// time on the way back belongs to a moment of ours within the round trip. The best of the latest
// samples counts: the one with the shortest way, less what clocks may have drifted apart since.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include "model/time.h"
#include "wire/message.h"

namespace dlaunch {

class NodeClock {
 public:
  /// A clock of which nothing is known yet may be off by so much.
  static constexpr std::chrono::nanoseconds kUnknown = std::chrono::hours(24);

  /// The node is this machine.
  void is_ours() { ours_ = true; }
  /// A heartbeat of the node has come at `monotonic`, `wall` on our clocks; without an echo it says
  /// nothing. What cannot be true is ignored.
  void add(const wire::Heartbeat& beat, MonotonicTime monotonic, WallTime wall);

  /// The node's clock less ours.
  [[nodiscard]] std::chrono::nanoseconds offset() const;
  /// The most by which offset() may be wrong.
  [[nodiscard]] std::chrono::nanoseconds error() const;

  /// A time of the node on our clock. Times that it gave in this order stay in this order, equal
  /// ones equal, whatever was learnt of its clock in between: on one node the order is known
  /// exactly.
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
  std::deque<Sample> samples_;
  MonotonicTime latest_{};
  WallTime last_there_{};
  WallTime last_here_{};
};

}  // namespace dlaunch
