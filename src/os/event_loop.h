// The event loop: readiness of descriptors, timers, and work for a later turn. A thin wrapper
// around Asio, which only event_loop.cc includes, because it takes seconds to compile.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "model/time.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// For use on one thread only, like everything in this file. Callbacks are called only from run(),
/// run_one() and poll().
class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Runs callbacks until stop().
  void run();
  void stop();
  /// Runs one callback; waits for it at most until `deadline`. False: the deadline has passed.
  bool run_one(std::optional<MonotonicTime> deadline = std::nullopt);
  /// Runs the callbacks that are ready now; does not wait.
  void poll();
  /// Runs `work` in a later turn.
  void post(std::function<void()> work);

  struct State;
  [[nodiscard]] State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// A watched descriptor. Closing or destroying it cancels its callbacks. Each callback is called
/// once; set it again for the next event. O_NONBLOCK is set on it, so it must not be shared with
/// other programs.
class WatchedFd {
 public:
  WatchedFd(EventLoop& loop, UniqueFd fd);
  ~WatchedFd();
  WatchedFd(const WatchedFd&) = delete;
  WatchedFd& operator=(const WatchedFd&) = delete;

  void on_readable(std::function<void()> callback);
  void on_writable(std::function<void()> callback);
  /// -1 when closed.
  [[nodiscard]] int get() const;
  void close();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

class Timer {
 public:
  explicit Timer(EventLoop& loop);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// Replaces what was set before.
  void after(std::chrono::nanoseconds delay, std::function<void()> callback);
  void cancel();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace dlaunch
