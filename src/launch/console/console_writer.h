// ConsoleWriter writes to two inherited descriptors from its own thread, because an inherited
// terminal or pipe may block, and must not be set O_NONBLOCK: the flag belongs to the open file
// description, which other processes share (open(2)).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "model/ids.h"

namespace dlaunch {

/// A console that has accepted no data for this long is not waited for.
inline constexpr std::chrono::seconds kConsoleStall{5};

class ConsoleLane;

/// All members may be called from any thread; only drain() waits. Two descriptors of different
/// files have a thread each, so that a stopped reader does not delay messages on the other one; two
/// of one file (a terminal, 2>&1) share a thread, and the order of the calls is kept. A thread
/// starts at the first write, with all signals blocked; do not fork without exec after that.
/// Without a thread, write() does its work and waits for a slow reader, 100 ms at most. A reader
/// that is gone shows as EPIPE, never as SIGPIPE.
class ConsoleWriter {
 public:
  /// Does not own the descriptors, and writes to duplicates of them: a blocked thread outlives this
  /// object and keeps its file open until then.
  ConsoleWriter(int out_fd, int err_fd);
  /// Does not wait for a blocked descriptor and discards what is queued: see drain().
  ~ConsoleWriter();
  ConsoleWriter(const ConsoleWriter&) = delete;
  ConsoleWriter& operator=(const ConsoleWriter&) = delete;

  /// Queues `text`; texts for one file are written in the order of the calls.
  void write(Stream stream, std::string text);

  /// An empty text to fill and pass to write(); it may have capacity already.
  [[nodiscard]] std::string take_buffer(Stream stream);

  /// Both streams are the same open file, or the same terminal.
  [[nodiscard]] bool is_one_file() const;

  /// Bytes queued and not yet accepted by the kernel, for both files or for that of a stream.
  [[nodiscard]] std::size_t pending() const;
  [[nodiscard]] std::size_t pending(Stream stream) const;

  /// Something has been waiting for at least kConsoleStall, and nothing was accepted meanwhile.
  [[nodiscard]] bool stalled(Stream stream) const;
  /// Such a wait has ended since the last call.
  [[nodiscard]] bool has_stalled(Stream stream);
  /// Discards what is queued for the stream's file; returns how many bytes.
  std::size_t discard(Stream stream);

  /// The descriptors are other files now, by dup2(2): what is queued for the old ones is discarded,
  /// their failures and waits no longer matter, and a thread that is blocked in one is abandoned.
  /// Must not be called while another thread calls a member. Returns the number of discarded bytes.
  std::size_t targets_changed();

  /// An eventfd(2), non-blocking, that becomes readable the next time pending() falls after
  /// ask_progress(); the caller reads it. Owned by this object. -1 if no descriptor was available
  /// for it.
  [[nodiscard]] int progress_fd() const { return progress_fd_; }
  void ask_progress();

  /// Waits until everything queued has been accepted; false if the limit passed or a reader is
  /// gone.
  bool drain(std::chrono::milliseconds limit);
  bool drain(Stream stream, std::chrono::milliseconds limit);

  /// A write failed (EPIPE, EIO, ENOSPC, ...): queued and later text for this stream's file is
  /// dropped and counted.
  [[nodiscard]] bool broken(Stream stream) const;
  /// The errno of that failure; 0: none.
  [[nodiscard]] int error_number(Stream stream) const;
  /// Bytes that were dropped since the failure.
  [[nodiscard]] std::uint64_t dropped(Stream stream) const;

 private:
  [[nodiscard]] const std::shared_ptr<ConsoleLane>& lane(Stream stream) const;
  void open_lanes();

  const int out_fd_;
  const int err_fd_;
  std::function<void()> tell_;
  std::array<std::shared_ptr<ConsoleLane>, 2> lanes_;
  std::shared_ptr<std::atomic<bool>> asked_;
  int progress_fd_ = -1;
};

}  // namespace dlaunch
