// Finds the message size for measuring a bandwidth in a short time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace dlaunch::collectives {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The largest size: more than host caches hold, or enough to keep the links of a GPU busy.
[[nodiscard]] constexpr std::size_t most_bytes(bool is_device) {
  return is_device ? std::size_t{256} << 20U : std::size_t{64} << 20U;
}

/// Grows the size until a call takes long enough, then repeats that size. The first call of each
/// size does not count, because its buffers and perhaps its connection are new.
class SizeWalk {
 public:
  SizeWalk(std::size_t most, double long_enough) : most_(most), long_enough_(long_enough) {}
  /// The size of the next call; 0: finished.
  [[nodiscard]] std::size_t next() const { return calls_ > kRepeats ? 0 : bytes_; }
  void took(double seconds) {
    if (seconds < long_enough_ && bytes_ < most_) {
      bytes_ = std::min(most_, bytes_ * (seconds < long_enough_ / 8 ? 4 : 2));
      calls_ = 0;
      best_ = 0;
      return;
    }
    if (++calls_ > 1) best_ = std::max(best_, static_cast<double>(bytes_) / seconds);
  }
  [[nodiscard]] double best_bytes_per_second() const { return best_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  static constexpr int kRepeats = 3;
  static constexpr std::size_t kLeastBytes = std::size_t{256} << 10U;
  std::size_t bytes_ = kLeastBytes;
  std::size_t most_;
  double long_enough_;
  int calls_ = 0;  // of this size
  double best_ = 0;
};

}  // namespace dlaunch::collectives
