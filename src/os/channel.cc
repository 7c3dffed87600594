#include "os/channel.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/uio.h>
#include <unistd.h>

namespace dlaunch {

namespace {

constexpr std::size_t kReadSize = 256 * 1024;
// There may be tens of thousands of channels, and most of them rarely say more than this at once.
constexpr std::size_t kQuietReadSize = 16 * 1024;

}  // namespace

FrameChannel::FrameChannel(EventLoop& loop, UniqueFd read, UniqueFd write, std::uint32_t node,
                           std::uint64_t session)
    : loop_(loop),
      node_(node),
      session_(session),
      sender_(node, session),
      receiver_(node, session) {
  connect(std::move(read), std::move(write));
}

void FrameChannel::connect(UniqueFd read, UniqueFd write) {
  ++connection_;
  reader_ = wire::FrameReader();  // drops an incomplete frame of the old connection
  read_.emplace(loop_, std::move(read));
  if (write) write_.emplace(loop_, std::move(write));
}

void FrameChannel::start(Callbacks callbacks, const std::string& early) {
  callbacks_ = std::move(callbacks);
  wait_readable(early);
}

void FrameChannel::wait_readable(const std::string& early) {
  if (early.empty()) return wait_readable();
  loop_.post([this, early, connection = connection_] {
    if (ended_ || connection != connection_) return;
    early.copy(reader_.room(early.size()), early.size());
    reader_.took(early.size());
    if (!dispatch_frames()) return;
    acknowledge_if_due();
    wait_readable();
  });
}

std::uint64_t FrameChannel::send(wire::Frame unstamped) {
  if (ended_ || (deaf_ && !callbacks_.on_lost)) return 0;
  const wire::Frame frame = sender_.stamp(std::move(unstamped));
  if (sender_.keeps_too_much()) {
    end("none of " + std::to_string(sender_.unacknowledged().size()) +
        " messages was acknowledged");
    return 0;
  }
  if (!is_connected() || deaf_ || repeating_) return frame.sequence;
  wire::append_frame(frame, waiting_);
  queue_written();
  return frame.sequence;
}

void FrameChannel::queue_written() {
  if (queued() >= kLowWater) was_full_ = true;
  if (write_pending_) return;
  // Collects what this turn of the event loop sends, to write it in one call.
  write_pending_ = true;
  loop_.post([this] { flush(); });
}

void FrameChannel::send(const wire::OutputData& output) {
  if (!is_connected() || deaf_) return;
  head_.clear();
  wire::append_output_header(output, node_, session_, head_);
  std::string_view head = head_;
  std::string_view bytes = output.bytes;
  if (queued() > 0 && !write_some()) return;
  if (queued() == 0 && !deaf_) {
    const std::size_t gone = write_now(head, bytes);
    bytes.remove_prefix(gone - std::min(gone, head.size()));
    head.remove_prefix(std::min(gone, head.size()));
  }
  if (head.empty() && bytes.empty()) return;
  waiting_.append(head).append(bytes);
  if (queued() >= kLowWater) was_full_ = true;
  if (write_pending_) return;
  write_pending_ = true;
  writer().on_writable([this] { flush(); });
}

std::size_t FrameChannel::write_now(std::string_view head, std::string_view bytes) {
  const std::array<iovec, 2> pieces{iovec{const_cast<char*>(head.data()), head.size()},
                                    iovec{const_cast<char*>(bytes.data()), bytes.size()}};
  const ssize_t n = ::writev(writer().get(), pieces.data(), pieces.size());
  // The error recurs when the queued bytes are written, and is handled there.
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

void FrameChannel::flush() {
  write_pending_ = false;
  if (ended_ || !read_ || !write_some()) return;
  if (queued() > 0) {
    write_pending_ = true;
    writer().on_writable([this] { flush(); });
  }
  if (was_full_ && queued() < kLowWater) {
    was_full_ = false;
    if (callbacks_.on_drained) callbacks_.on_drained();
  }
}

bool FrameChannel::write_some() {
  while (queued() > 0) {
    if (sent_ == sending_.size()) {
      sending_.clear();
      sending_.swap(waiting_);
      sent_ = 0;
    }
    const ssize_t n = ::write(writer().get(), sending_.data() + sent_, sending_.size() - sent_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    // The other process has gone. What it sent before is still readable and says more.
    if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
      deaf_ = true;
      sending_.clear();
      waiting_.clear();
      sent_ = 0;
      return true;
    }
    if (n < 0) {
      lose("cannot send: " + errno_text(errno));
      return false;
    }
    sent_ += static_cast<std::size_t>(n);
  }
  // Frees their memory: a quiet channel may never send as much again.
  std::string().swap(sending_);
  std::string().swap(waiting_);
  sent_ = 0;
  return true;
}

void FrameChannel::wait_readable() {
  if (ended_ || !read_) return;
  read_->on_readable([this] {
    if (!ended_) read_some();
  });
}

void FrameChannel::read_some() {
  const std::size_t most = is_busy_ ? kReadSize : kQuietReadSize;
  const ssize_t n = ::read(read_->get(), reader_.room(most), most);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return wait_readable();
  // A reset socket is an end of file too: the other process has ended without reading our bytes.
  if (n == 0 || (n < 0 && errno == ECONNRESET)) return lose("");
  if (n < 0) return lose("cannot receive: " + errno_text(errno));
  reader_.took(static_cast<std::size_t>(n));
  is_busy_ = static_cast<std::size_t>(n) >= kQuietReadSize;
  if (!dispatch_frames()) return;
  if (!is_busy_) reader_.release_if_empty();
  acknowledge_if_due();
  wait_readable();
}

bool FrameChannel::dispatch_frames() {
  const std::uint32_t connection = connection_;
  while (!ended_ && connection == connection_ && read_) {
    auto frame = reader_.next_view();
    if (!frame) {
      end(frame.error().message);
      return false;
    }
    if (!*frame) return true;
    ++frames_received_;
    if (!accept(**frame)) return false;
  }
  return false;
}

bool FrameChannel::accept(const wire::FrameView& frame) {
  const auto verdict = receiver_.accept(frame);
  if (!verdict) {
    end(verdict.error().message);
    return false;
  }
  if (*verdict == wire::ControlReceiver::Verdict::duplicate) return true;
  if (wire::is_resume(frame.type) != waits_for_resume_) {
    end(waits_for_resume_ ? std::string(wire::type_name(frame.type)) + " message before Resume"
                          : "Resume message in the middle of a connection");
    return false;
  }
  const Status taken =
      wire::is_channels_own(frame.type) ? accept_own(frame) : callbacks_.on_frame(frame);
  if (!taken) end(taken.error().message);
  return !ended_;
}

Status FrameChannel::accept_own(const wire::FrameView& frame) {
  const auto message = wire::decode<wire::ChannelMessage>(frame);
  if (!message) return tl::unexpected(message.error());
  if (const auto* ack = std::get_if<wire::Ack>(&*message))
    return sender_.acknowledged(ack->sequence);
  take_up(std::get<wire::Resume>(*message));
  return {};
}

void FrameChannel::acknowledge_if_due() {
  if (const auto number = receiver_.ack_due()) send(wire::encode(wire::Ack{*number}));
}

void FrameChannel::close() {
  if (ended_) return;
  if (read_) write_some();
  ended_ = true;
  disconnect();
}

std::optional<LeftConnection> FrameChannel::leave() {
  if (ended_ || !is_connected() || !write_some() || queued() > 0 || deaf_) {
    close();
    return std::nullopt;
  }
  LeftConnection left{duplicate(read_->get()), write_ ? duplicate(write_->get()) : UniqueFd(),
                      std::string(reader_.rest())};
  const bool is_whole = left.read && static_cast<bool>(left.write) == write_.has_value();
  close();
  return is_whole ? std::optional(std::move(left)) : std::nullopt;
}

void FrameChannel::go_on_over(UniqueFd read, UniqueFd write, wire::Resume mine,
                              const std::string& early) {
  if (ended_) return;
  disconnect();
  connect(std::move(read), std::move(write));
  waits_for_resume_ = true;
  mine.control_received = receiver_.last();
  wire::append_frame(sender_.stamp(wire::encode(mine)), waiting_);
  queue_written();
  wait_readable(early);
}

void FrameChannel::go_on_over(UniqueFd read, UniqueFd write, wire::Resume mine,
                              const wire::Resume& theirs) {
  go_on_over(std::move(read), std::move(write), std::move(mine), std::string());
  if (!ended_) take_up(theirs);
}

void FrameChannel::take_up(const wire::Resume& theirs) {
  waits_for_resume_ = false;
  if (const Status known = sender_.acknowledged(theirs.control_received); !known)
    return end(known.error().message);
  repeating_ = true;
  if (callbacks_.on_resume) callbacks_.on_resume(theirs);
  repeating_ = false;
  // The callback may have closed the connection or the channel.
  if (!is_connected() || deaf_) return;
  for (const wire::Frame& frame : sender_.unacknowledged()) wire::append_frame(frame, waiting_);
  was_full_ = true;  // so that output continues as soon as there is room
  queue_written();
}

void FrameChannel::disconnect() {
  ++connection_;
  read_.reset();
  write_.reset();
  sending_.clear();
  waiting_.clear();
  sent_ = 0;
  write_pending_ = deaf_ = was_full_ = waits_for_resume_ = false;
}

void FrameChannel::lose(std::string reason) {
  if (ended_) return;
  if (!callbacks_.on_lost) return end(std::move(reason));
  disconnect();
  // Posted, as in end(). Ignored if the connection has been replaced since.
  loop_.post([this, connection = connection_, reason = std::move(reason)] {
    if (!ended_ && connection == connection_) callbacks_.on_lost(reason);
  });
}

void FrameChannel::end(std::string reason) {
  if (ended_) return;
  ended_ = true;
  disconnect();
  // Never calls on_end from inside send() or a callback: the owner may then destroy objects that
  // are still in use.
  auto tell = callbacks_.on_end;
  if (tell) loop_.post([tell, reason = std::move(reason)] { tell(reason); });
}

}  // namespace dlaunch
