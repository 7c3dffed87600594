// Ends this rank when a call does not return: MPI's blocking calls, which the program measures,
// wait for a stuck peer without limit.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace dlaunch::collectives {

/// Writes a line to stderr in one call, so that lines of several ranks do not mix.
void say(const std::string& line);

class Watchdog {
 public:
  /// Zero: no limit.
  explicit Watchdog(std::chrono::milliseconds limit);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Names the current call, for the message ("all_reduce of 1M"), and restarts the limit.
  void begin(std::string what);
  /// Suspends the limit until the next begin(), while this rank waits for others: the rank that
  /// they wait for has its own limit, and only that rank should end.
  void pause();
  /// Restarts the limit; takes a few nanoseconds. The limit may be exceeded by a quarter.
  void alive() { beats_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void watch();

  const std::chrono::milliseconds limit_;
  std::atomic<unsigned> beats_ = 0;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::string what_ = "the startup";
  bool paused_ = false;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace dlaunch::collectives
