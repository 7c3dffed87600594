// How much may be on its way to a node. As little as keeps the link busy: heartbeats travel behind
// it, and ranks and agents live on those. Grows while what is sent is taken soon, shrinks when it
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

  /// `most`: bytes, at least kLeast. `delay`: what is sent should be taken within it.
  Window(std::uint64_t most, MonotonicTime delay) : most_(most), delay_(delay) {}

  [[nodiscard]] bool open() const { return sent_ - taken_ < size_; }
  /// How large the next message may be: several fit, so that there is always one on its way.
  [[nodiscard]] std::uint64_t piece() const { return size_ / 4; }
  void sent(std::uint64_t cost, MonotonicTime now);
  /// `up_to`: cost of all that the node has taken. What was never sent is not believed.
  void taken(std::uint64_t up_to, MonotonicTime now);
  /// Counts from nothing again; what was learnt about the link stays.
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
  std::uint64_t quiet_until_ = 0;  // what was sent before the window shrank says nothing new
  std::deque<Sent> on_the_way_;
};

}  // namespace dlaunch::sync
