// ConsoleWriter writes to two inherited descriptors from a thread of its own, because an inherited
// terminal or pipe may block, and it must not be set O_NONBLOCK: the flag belongs to the open file
// description, which other processes share (open(2)).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "model/ids.h"

namespace dlaunch {

/// All members may be called from any thread, none but drain() waits. The thread starts at the
/// first write, with all signals blocked; do not fork without exec after that. A reader that is
/// gone is seen as EPIPE, never as SIGPIPE.
class ConsoleWriter {
 public:
  /// Does not own the descriptors. They must stay open until drain() was true or the process ends:
  /// a blocked thread outlives this object.
  ConsoleWriter(int out_fd, int err_fd);
  /// Does not wait for a blocked descriptor and discards what is queued: see drain().
  ~ConsoleWriter();
  ConsoleWriter(const ConsoleWriter&) = delete;
  ConsoleWriter& operator=(const ConsoleWriter&) = delete;

  /// Queues `text`; what is queued is written in the order of the calls, across both streams.
  void write(Stream stream, std::string text);

  /// Bytes queued and not yet accepted by the kernel.
  [[nodiscard]] std::size_t pending() const;

  /// An eventfd(2), non-blocking, that becomes readable whenever pending() has fallen; the caller
  /// reads it. Owned by this object. -1 when there was no descriptor left for it.
  [[nodiscard]] int progress_fd() const;

  /// Waits until everything queued has been accepted; false if the limit passed or a reader is
  /// gone.
  bool drain(std::chrono::milliseconds limit);

  /// A write failed (EPIPE, EIO, ENOSPC, ...): what was queued for this stream and what comes later
  /// is dropped and counted.
  [[nodiscard]] bool broken(Stream stream) const;
  /// The errno of that failure; 0 while there was none.
  [[nodiscard]] int error_number(Stream stream) const;
  /// Bytes that were dropped since the failure.
  [[nodiscard]] std::uint64_t dropped(Stream stream) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace dlaunch
