// Decides when the front acts because the engine does not: an engine that waits for a file system
// cannot handle a cancellation. A function of signals, answers and seconds; pure.
#pragma once

#include <chrono>
#include <cstdint>

namespace dlaunch {

class LastResort {
 public:
  /// Tell the user when the engine has not answered for this long since the run was cancelled.
  static constexpr std::uint32_t kTellAfter = 5;
  /// Time after the second cancellation when the front ends the job's processes on this machine.
  static constexpr std::uint32_t kKillAfter = 5;
  /// Stop waiting for an engine that has not answered for this long after the second cancellation.
  static constexpr std::uint32_t kLeaveAfter = 10;

  struct Step {
    bool ask = false;   // send a ping
    bool tell = false;  // that the engine does not answer
    bool kill = false;  // the job's processes on this machine
    bool leave = false;
  };

  /// Call after a signal that cancels the run was forwarded; the second such signal kills.
  void cancelled() { ++cancels_; }
  /// Call when the engine has sent something.
  void heard() { unanswered_ = 0; }

  /// Call once a second, even if idle. It counts calls, not time, so a front that was
  /// itself stopped for a while raises no alarm.
  [[nodiscard]] Step second() {
    Step step;
    if (cancels_ == 0) return step;
    step.ask = true;
    ++unanswered_;
    step.tell = unanswered_ >= kTellAfter && !told_;
    told_ = told_ || step.tell;
    if (cancels_ == 1) return step;
    ++since_second_;
    step.kill = since_second_ >= kKillAfter;
    step.leave = since_second_ >= kLeaveAfter && unanswered_ >= kLeaveAfter;
    return step;
  }

  [[nodiscard]] bool is_cancelled() const { return cancels_ > 0; }
  [[nodiscard]] bool is_cancelled_twice() const { return cancels_ > 1; }

 private:
  std::uint32_t cancels_ = 0;
  std::uint32_t unanswered_ = 0;    // seconds since the first cancellation without an answer
  std::uint32_t since_second_ = 0;  // seconds since the second one
  bool told_ = false;
};

}  // namespace dlaunch
