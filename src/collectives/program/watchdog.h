// Ends this rank when a call does not: a peer that is stuck holds MPI's blocking calls, which are
// the ones to measure, for ever.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace dlaunch::collectives {

class Watchdog {
 public:
  /// Zero: it never ends anything.
  explicit Watchdog(std::chrono::milliseconds limit);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// What is done from now on, for the message: "all_reduce of 1M". The limit counts anew.
  void begin(std::string what);
  /// Nothing is done until the next begin(): this rank waits for others, who have limits of their
  /// own. Only who holds the others up is to be ended.
  void pause();
  /// The limit counts anew; a few nanoseconds. The limit may be overrun by a quarter of it.
  void alive() { beats_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void watch();

  const std::chrono::milliseconds limit_;
  std::atomic<unsigned> beats_ = 0;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::string what_ = "the start";
  bool paused_ = false;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace dlaunch::collectives
