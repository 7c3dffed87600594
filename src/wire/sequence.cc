#include "wire/sequence.h"

#include <string>
#include <utility>

#include "wire/codec.h"

namespace dlaunch::wire {

namespace {

std::string name_of(const FrameView& frame) {
  return std::string(type_name(frame.type)) + " message " + std::to_string(frame.sequence);
}

std::size_t size_of(const Frame& frame) {
  return sizeof frame + frame.payload.size();
}

}  // namespace

Frame ControlSender::stamp(Frame frame) {
  frame.node = node_;
  frame.session = session_;
  frame.sequence = 0;
  if (is_sequenced(frame.type)) {
    frame.sequence = ++last_;
    unacknowledged_.push_back(frame);
    kept_ += size_of(frame);
  }
  return frame;
}

Status ControlSender::acknowledged(std::uint64_t up_to) {
  if (up_to > last_) {
    return fail(exit_code::kNodeLost, "acknowledgement of message " + std::to_string(up_to) +
                                          ", but only " + std::to_string(last_) + " were sent");
  }
  while (!unacknowledged_.empty() && unacknowledged_.front().sequence <= up_to) {
    kept_ -= size_of(unacknowledged_.front());
    unacknowledged_.pop_front();
  }
  return {};
}

Result<ControlReceiver::Verdict> ControlReceiver::accept(const FrameView& frame) {
  if (frame.node != node_) {
    return fail(exit_code::kNodeLost, name_of(frame) + " is for node " + std::to_string(frame.node) +
                                          ", expected node " + std::to_string(node_));
  }
  if (frame.session != session_) {
    return fail(exit_code::kNodeLost, name_of(frame) + " is for another session");
  }
  if (!is_sequenced(frame.type)) {
    if (frame.sequence == 0) return Verdict::fresh;
    return fail(exit_code::kNodeLost, name_of(frame) + " must not have a sequence number");
  }
  if (frame.sequence == 0) {
    return fail(exit_code::kNodeLost, name_of(frame) + " has no sequence number");
  }
  if (frame.sequence > last_ + 1) {
    return fail(exit_code::kNodeLost,
                name_of(frame) + " came where " + std::to_string(last_ + 1) + " was expected");
  }
  ++since_ack_;
  bytes_since_ack_ += frame.payload.size();
  if (frame.sequence <= last_) return Verdict::duplicate;
  last_ = frame.sequence;
  return Verdict::fresh;
}

std::optional<std::uint64_t> ControlReceiver::ack_due(bool force) {
  const bool is_due = since_ack_ >= kAckEvery || bytes_since_ack_ >= kAckBytes;
  if (since_ack_ == 0 || (!force && !is_due)) return std::nullopt;
  since_ack_ = 0;
  bytes_since_ack_ = 0;
  return last_;
}

}  // namespace dlaunch::wire
