// The channel of one agent: frames over a pair of descriptors of our own (a socket pair, or the
// stdin and stdout of ssh). Never inherited stdio of the user: O_NONBLOCK is set on both.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "os/event_loop.h"
#include "os/unique_fd.h"
#include "wire/codec.h"
#include "wire/framer.h"
#include "wire/message.h"
#include "wire/sequence.h"

namespace dlaunch {

/// Runs on one io_context thread; no member may be called from another one. Callbacks are called
/// from the io_context, never from inside send().
class Channel {
 public:
  struct Callbacks {
    std::function<void(wire::Message)> on_message;
    /// The channel has ended: nothing is received any more. Empty text: orderly end of file.
    std::function<void(std::string)> on_end;
    /// Fewer than kLowWater bytes are queued again after more were.
    std::function<void()> on_drained;
    /// OutputData, whose bytes are there during the call; without this it comes by on_message.
    std::function<void(const wire::OutputView&)> on_output = {};
  };
  static constexpr std::size_t kLowWater = 256 * 1024;

  /// `read` and `write` may be duplicates of one socket.
  Channel(EventLoop& loop, UniqueFd read, UniqueFd write, std::uint32_t node,
          std::uint64_t session);

  /// `early`: bytes of the channel that were read before it was one.
  void start(Callbacks callbacks, const std::string& early = {});
  void send(const wire::Message& message);
  /// The same for OutputData, whose bytes are copied only as far as the kernel does not take them.
  void send(const wire::OutputView& output);

  /// Bytes given to send() that the kernel has not taken yet.
  [[nodiscard]] std::size_t queued() const { return sending_.size() - sent_ + waiting_.size(); }
  [[nodiscard]] bool ended() const { return ended_; }
  /// Sends what is queued as far as it goes without waiting, then closes both ends.
  void close();
  /// Counts frames received, for the watch on silent peers.
  [[nodiscard]] std::uint64_t frames_received() const { return frames_received_; }

 private:
  void wait_readable();
  void take_early(const std::string& bytes);
  void read_some();
  bool dispatch_frames();
  bool accept(const wire::FrameView& frame);
  bool accept_output(const wire::FrameView& frame);
  std::size_t write_now(std::string_view head, std::string_view bytes);
  void flush();
  bool write_some();
  void acknowledge_if_due();
  void end(std::string reason);

  EventLoop& loop_;
  const std::uint32_t node_;
  const std::uint64_t session_;
  WatchedFd read_;
  WatchedFd write_;
  wire::FrameReader reader_;
  wire::ControlSender sender_;
  wire::ControlReceiver receiver_;
  Callbacks callbacks_;
  std::string head_;     // of the output frame that is being made
  std::string sending_;  // being written; sent_ bytes of it are gone
  std::size_t sent_ = 0;
  std::string waiting_;  // collected while `sending_` is on its way
  bool write_pending_ = false;
  bool was_full_ = false;
  bool deaf_ = false;  // nobody reads what we write; the end of file is to come
  bool ended_ = false;
  std::uint64_t frames_received_ = 0;
};

}  // namespace dlaunch
