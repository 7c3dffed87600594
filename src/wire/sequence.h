// Sequence numbers and acknowledgements of control frames. There are few of these frames, and each
// end keeps those it has sent until the other end acknowledges them, so that a session can continue
// over a new channel. Ack, Heartbeat, OutputData and Resume are not numbered: they carry sequence 0
// and are never repeated. Thread-safety: none; one pair per session.
#pragma once

#include <cstdint>
#include <list>
#include <optional>

#include "model/result.h"
#include "wire/frame.h"

namespace dlaunch::wire {

/// The receiver acknowledges after this many control frames or bytes of them, or sooner when asked.
/// Without the byte limit, a launcher would keep the start-up messages of thousands of nodes for
/// the whole run.
inline constexpr std::uint64_t kAckEvery = 32;
inline constexpr std::size_t kAckBytes = 1024;

/// Limits on unacknowledged frames. A correct peer acknowledges at least every kAckEvery frames
/// that it reads, so a sender exceeds both limits only if its peer reads without acknowledging.
inline constexpr std::size_t kMostUnacknowledgedFrames = 1024;
inline constexpr std::size_t kMostUnacknowledgedBytes = std::size_t{64} << 20;

class ControlSender {
 public:
  ControlSender(std::uint32_t node, std::uint64_t session) : node_(node), session_(session) {}
  /// Fills in node, session and sequence; keeps a copy of a sequenced frame until it is
  /// acknowledged.
  [[nodiscard]] Frame stamp(Frame frame);
  /// Drops the copies up to and including this number. An old number has no effect; a number that
  /// was never sent is an error.
  [[nodiscard]] Status acknowledged(std::uint64_t up_to);
  /// What must be sent again on a new channel, in sequence order.
  [[nodiscard]] const std::list<Frame>& unacknowledged() const { return unacknowledged_; }
  /// True if more frames are kept than a correct receiver ever leaves unacknowledged.
  [[nodiscard]] bool keeps_too_much() const {
    return unacknowledged_.size() > kMostUnacknowledgedFrames && kept_ > kMostUnacknowledgedBytes;
  }

 private:
  std::uint32_t node_;
  std::uint64_t session_;
  std::uint64_t last_ = 0;
  std::list<Frame> unacknowledged_;  // a deque takes 600 bytes when it is empty
  std::size_t kept_ = 0;  // bytes of unacknowledged_, approximately
};

class ControlReceiver {
 public:
  ControlReceiver(std::uint32_t node, std::uint64_t session) : node_(node), session_(session) {}
  enum class Verdict { fresh, duplicate };
  /// A frame of another node or session, a gap, and an unexpected number are errors. A
  /// duplicate (sent again after a reconnect) must not be acted upon.
  [[nodiscard]] Result<Verdict> accept(const FrameView& frame);
  /// The number to send in an Ack if at least kAckEvery control frames or kAckBytes, or with
  /// `force` at least one frame, have arrived since the last Ack; else nullopt. Duplicates count,
  /// because their sender waits for an Ack.
  [[nodiscard]] std::optional<std::uint64_t> ack_due(bool force = false);
  /// Every control frame up to this one has arrived.
  [[nodiscard]] std::uint64_t last() const { return last_; }

 private:
  std::uint32_t node_;
  std::uint64_t session_;
  std::uint64_t last_ = 0;
  std::uint64_t since_ack_ = 0;
  std::size_t bytes_since_ack_ = 0;
};

}  // namespace dlaunch::wire
