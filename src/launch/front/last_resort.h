// When the front acts by itself because the engine does not: it may wait for a file system that
// does not answer, and with it every cancellation. A function of signals, answers and seconds;
// pure.
#pragma once

#include <chrono>
#include <cstdint>

namespace dlaunch {

class LastResort {
 public:
  /// The engine has not answered for so long since the run was cancelled: the user is told.
  static constexpr std::uint32_t kTellAfter = 5;
  /// So long after the second cancellation the front ends what is left of the job on this machine.
  static constexpr std::uint32_t kKillAfter = 5;
  /// An engine that has not answered for so long, after the second one, is not waited for.
  static constexpr std::uint32_t kLeaveAfter = 10;

  struct Step {
    bool ask = false;   // send a ping
    bool tell = false;  // that the engine does not answer
    bool kill = false;  // the job's processes on this machine
    bool leave = false;
  };

  /// A signal that cancels has been passed on: the second one kills, as everywhere.
  void cancelled() { ++cancels_; }
  /// The engine has said something.
  void heard() { unanswered_ = 0; }

  /// Once a second, also while nothing happens. Seconds are counted, not time: a front that was
  /// itself stopped for a while starts no alarm.
  [[nodiscard]] Step second();

  [[nodiscard]] bool is_cancelled() const { return cancels_ > 0; }
  [[nodiscard]] bool is_cancelled_twice() const { return cancels_ > 1; }

 private:
  std::uint32_t cancels_ = 0;
  std::uint32_t unanswered_ = 0;    // seconds since the first cancellation without a word
  std::uint32_t since_second_ = 0;  // seconds since the second one
  bool told_ = false;
};

}  // namespace dlaunch
