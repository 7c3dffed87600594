// The channel of one agent: frames over a pair of private descriptors (a socket pair, or the stdin
// and stdout of ssh). O_NONBLOCK is set on both, so they must not be the user's own stdio.
//
// A channel may outlive its connection. The state of the session (sequence numbers, control frames
// that are not acknowledged) survives the loss of the descriptors. Over new ones, both ends first
// report in a Resume what they have received, then repeat what is missing. Each control frame is
// delivered exactly once, however often connections break and wherever they cut a frame. Repeating
// output is up to its sender: on_resume says what the other end has received.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "os/event_loop.h"
#include "os/unique_fd.h"
#include "wire/codec.h"
#include "wire/framer.h"
#include "wire/message.h"
#include "wire/sequence.h"

namespace dlaunch {

/// What a channel leaves to the next one over the same connection.
struct LeftConnection {
  UniqueFd read;
  UniqueFd write;     // as in FrameChannel
  std::string early;  // bytes read after the last frame
};

/// Runs on the loop's thread; no member may be called from another one. Callbacks are called from
/// the loop, never from inside send().
class FrameChannel {
 public:
  struct Callbacks {
    /// All frames but the channel's own. An error ends the channel.
    std::function<Status(const wire::FrameView&)> on_frame;
    /// The channel has ended: no more frames arrive. Empty text: orderly end of file.
    std::function<void(std::string)> on_end;
    /// The queue has shrunk below kLowWater bytes after it was longer.
    std::function<void()> on_drained = {};
    /// The connection has ended, but not the session: the channel may go_on_over() another
    /// connection. on_end is called only when that is impossible for good (a broken frame). Empty
    /// text: end of file. If this callback is empty, the end of the connection is the end of the
    /// channel.
    std::function<void(std::string)> on_lost = {};
    /// On a new connection: what the other end has received. Output sent from inside this call goes
    /// out before the control frames that are repeated.
    std::function<void(const wire::Resume&)> on_resume = {};
  };
  static constexpr std::size_t kLowWater = 256 * 1024;

  /// `read` and `write` may be duplicates of one socket; without `write`, `read` is a socket for
  /// both.
  FrameChannel(EventLoop& loop, UniqueFd read, UniqueFd write, std::uint32_t node,
               std::uint64_t session);

  /// `early`: bytes of the channel that were read before it existed.
  void start(Callbacks callbacks, const std::string& early = {});
  /// Returns the message's sequence number; 0 if it has none, or if the channel has ended. While
  /// there is no connection, control messages are kept for the next one and all others are dropped.
  std::uint64_t send(wire::Frame frame);
  /// Copies only the bytes that the kernel does not take at once.
  void send(const wire::OutputData& output);

  /// Continues over new descriptors, in place of any that it still has. `mine` is sent first, with
  /// the number of control frames received filled in; everything else waits for the Resume of the
  /// other end.
  void go_on_over(UniqueFd read, UniqueFd write, wire::Resume mine, const std::string& early = {});
  /// The same for an end that has already received the other end's Resume on the new connection.
  void go_on_over(UniqueFd read, UniqueFd write, wire::Resume mine, const wire::Resume& theirs);
  /// Gives up the connection but keeps the session; calls no callback.
  void disconnect();
  /// Whether sent frames go out: there is a connection, and each end knows what the other has
  /// received.
  [[nodiscard]] bool is_connected() const { return read_ && !waits_for_resume_ && !ended_; }

  /// Bytes given to send() that the kernel has not taken yet.
  [[nodiscard]] std::size_t queued() const { return sending_.size() - sent_ + waiting_.size(); }
  [[nodiscard]] bool ended() const { return ended_; }
  /// Sends as much of the queue as possible without waiting, then closes both descriptors.
  void close();
  /// Likewise, but leaves the connection to a channel of another session. nullopt: the connection
  /// is unusable, because it is closed or a frame was sent only in part.
  [[nodiscard]] std::optional<LeftConnection> leave();
  /// The number of frames received, for the watch on silent peers.
  [[nodiscard]] std::uint64_t frames_received() const { return frames_received_; }

 private:
  void wait_readable();
  void wait_readable(const std::string& early);
  void read_some();
  bool dispatch_frames();
  bool accept(const wire::FrameView& frame);
  [[nodiscard]] Status accept_own(const wire::FrameView& frame);
  std::size_t write_now(std::string_view head, std::string_view bytes);
  void flush();
  bool write_some();
  void acknowledge_if_due();
  void end(std::string reason);
  void lose(std::string reason);
  void connect(UniqueFd read, UniqueFd write);
  [[nodiscard]] WatchedFd& writer() { return write_ ? *write_ : *read_; }
  void take_up(const wire::Resume& theirs);
  void queue_written();

  EventLoop& loop_;
  const std::uint32_t node_;
  const std::uint64_t session_;
  std::optional<WatchedFd> read_;   // none while there is no connection
  std::optional<WatchedFd> write_;  // none if read_ serves for both
  wire::FrameReader reader_;
  wire::ControlSender sender_;
  wire::ControlReceiver receiver_;
  Callbacks callbacks_;
  std::string head_;     // of the output frame that is being made
  std::string sending_;  // being written; sent_ bytes of it are written
  std::size_t sent_ = 0;
  std::string waiting_;  // collected while `sending_` is on its way
  bool write_pending_ = false;
  bool was_full_ = false;
  bool is_busy_ = false;           // the last read filled kQuietReadSize
  bool deaf_ = false;              // the peer reads no more; its end of file is still to come
  bool waits_for_resume_ = false;  // of the other end, on a new connection
  bool repeating_ = false;         // in on_resume: control frames wait, and follow its output
  bool ended_ = false;
  std::uint32_t connection_ = 0;  // counts connections: callbacks of earlier ones are ignored
  std::uint64_t frames_received_ = 0;
};

/// A channel whose end sends `Sent` and receives `Received`.
template <class Sent, class Received>
class Channel : private FrameChannel {
 public:
  /// As in FrameChannel. The bytes of an OutputData are valid during the call.
  struct Callbacks {
    std::function<void(Received)> on_message;
    std::function<void(std::string)> on_end;
    std::function<void()> on_drained = {};
    std::function<void(std::string)> on_lost = {};
    std::function<void(const wire::Resume&)> on_resume = {};
  };
  using FrameChannel::FrameChannel;
  using FrameChannel::kLowWater;

  void start(Callbacks callbacks, const std::string& early = {}) {
    FrameChannel::start({[take = std::move(callbacks.on_message)](const wire::FrameView& frame) {
                           auto message = wire::decode<Received>(frame);
                           if (!message) return Status(tl::unexpected(std::move(message.error())));
                           take(*std::move(message));
                           return Status();
                         },
                         std::move(callbacks.on_end), std::move(callbacks.on_drained),
                         std::move(callbacks.on_lost), std::move(callbacks.on_resume)},
                        early);
  }
  template <wire::OneOf<Sent> T>
  std::uint64_t send(const T& message) {
    return FrameChannel::send(wire::encode(message));
  }
  std::uint64_t send(const Sent& message) { return FrameChannel::send(wire::encode(message)); }
  void send(const wire::OutputData& output) requires wire::OneOf<wire::OutputData, Sent> {
    FrameChannel::send(output);
  }

  using FrameChannel::close;
  using FrameChannel::disconnect;
  using FrameChannel::ended;
  using FrameChannel::frames_received;
  using FrameChannel::go_on_over;
  using FrameChannel::is_connected;
  using FrameChannel::leave;
  using FrameChannel::queued;
};

using LauncherChannel = Channel<wire::ToAgent, wire::FromAgent>;
using AgentChannel = Channel<wire::FromAgent, wire::ToAgent>;

}  // namespace dlaunch
