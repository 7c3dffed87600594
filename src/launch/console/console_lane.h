// One open file that the console writes to, with the thread that may have to wait for it. Part of
// ConsoleWriter.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

/// Any thread may call any member.
class ConsoleLane {
 public:
  using Clock = std::chrono::steady_clock;

  /// Writes to the open file of `fd` through a duplicate, if a descriptor is available. The lane's
  /// thread calls `progress` whenever bytes were accepted or dropped.
  ConsoleLane(int fd, std::function<void()> progress);
  ~ConsoleLane();
  ConsoleLane(const ConsoleLane&) = delete;
  ConsoleLane& operator=(const ConsoleLane&) = delete;

  /// The thread keeps `self`, so that the owner may be destroyed while the thread is
  /// blocked.
  static void write(const std::shared_ptr<ConsoleLane>& self, std::string text);
  /// An empty string that reuses the memory of a text that has been written.
  [[nodiscard]] std::string take_buffer();
  static bool drain(const std::shared_ptr<ConsoleLane>& self, std::chrono::milliseconds limit);
  /// Nothing more is written, except for a write(2) that is blocked now.
  void stop();

  [[nodiscard]] std::size_t pending() const;
  [[nodiscard]] Clock::duration stalled_for() const;
  [[nodiscard]] Clock::duration take_longest_stall();
  std::size_t discard();
  [[nodiscard]] int error_number() const;
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  struct Batch;
  struct Written;

  void ensure_thread(const std::shared_ptr<ConsoleLane>& self);
  void write_at_once(std::string_view text);
  void write_without_thread(std::chrono::milliseconds limit);
  void run();
  void gather(Batch& batch, std::size_t limit);
  Written write_batch(const Batch& batch);
  [[nodiscard]] bool stopped() const;
  void accept(std::size_t bytes, std::size_t looked_at);
  void give_up(int error);
  void keep_buffer(std::string&& text);
  void widen_pipe();

  const int own_fd_;  // -1: none
  const int fd_;
  const std::function<void()> progress_;
  const bool never_blocks_;
  bool may_nowait_ = true;  // used by the thread only

  mutable std::mutex mutex_;  // guards all below; never held while writing
  std::condition_variable work_;
  std::condition_variable changed_;
  std::deque<std::string>
      queue_;                  // a deque, because its elements stay where they are when it grows
  std::size_t offset_ = 0;     // bytes of the front that have been accepted
  std::size_t in_flight_ = 0;  // texts at the front that a write is using
  bool discarded_ = false;     // during that write
  std::size_t pending_ = 0;
  std::vector<std::string> spare_;  // texts that were written: their memory serves the next ones
  std::uint64_t accepted_ = 0;
  bool widened_ = false;
  Clock::time_point last_accept_{};  // or when the queue was last empty
  Clock::duration longest_{0};       // longest wait between two accepts since the last query
  int error_ = 0;
  std::uint64_t dropped_ = 0;
  bool has_thread_ = false;
  bool stop_ = false;
};

}  // namespace dlaunch
