// How many bytes may be in flight to a node: just enough to keep the link busy, because heartbeats
// queue behind them. Grows while the node takes data soon after it was sent, shrinks when that
// takes longer than `delay`. Pure.
#pragma once

#include <cstdint>
#include <deque>

#include "model/time.h"

namespace dlaunch::sync {

class Window {
 public:
  static constexpr std::uint64_t kLeast = 32 * 1024;
  static constexpr std::uint64_t kFirst = 128 * 1024;

  /// `most`: largest size in bytes, at least kLeast. `delay`: target for the time until the node
  /// has taken what was sent.
  Window(std::uint64_t most, MonotonicTime delay) : most_(most), delay_(delay) {}

  [[nodiscard]] bool open() const { return sent_ - taken_ < size_; }
  /// Size of the next message: several fit into the window, so one is always in flight.
  [[nodiscard]] std::uint64_t piece() const { return size_ / 4; }
  void sent(std::uint64_t cost, MonotonicTime now);
  /// `up_to`: total cost of what the node has taken, at most what was sent.
  void taken(std::uint64_t up_to, MonotonicTime now);
  /// Resets the counts, but keeps the size.
  void restart();
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  struct Sent {
    std::uint64_t up_to = 0;
    MonotonicTime at{};
  };
  const std::uint64_t most_;
  const MonotonicTime delay_;
  std::uint64_t size_ = kFirst;
  std::uint64_t sent_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t quiet_until_ = 0;  // ignore delays of what was sent before the window shrank
  std::deque<Sent> on_the_way_;
};

}  // namespace dlaunch::sync
