// The time for which an agent may run ranks without hearing from its launcher. A launcher gives a
// node up when it has heard nothing from it for lost_after, and may then start the same work on
// another node; by then the ranks on this node must be dead. So the lease counts from the sending
// of the latest heartbeat that the launcher is known to have received, not from the latest message
// received from the launcher: with a link that works in one direction only, the two differ.
// fence_after + heartbeat + 2 s < lost_after (jobfile/validate.cc). Pure; one thread at a time.
#pragma once

#include "model/time.h"

namespace dlaunch {

class Lease {
 public:
  /// `beat`: approximate interval of still_here().
  Lease(MonotonicTime length, MonotonicTime beat, MonotonicTime now)
      : length_(length), beat_(beat), confirmed_(now), seen_(now) {}

  /// Call at every beat. After a pause (SIGSTOP, a debugger, swapping) the agent's newest answer is
  /// as old as the pause was long, so the agent gets one beat to receive a fresh one before the
  /// lease can end. It gets no second beat until a fresh one arrives: otherwise an agent that is
  /// always late would never end.
  void still_here(MonotonicTime now) {
    if (now - seen_ > 2 * beat_ && !waits_for_fresh_) {
      waits_for_fresh_ = true;
      grace_until_ = now + beat_;
    }
    seen_ = now;
  }
  /// The launcher has received the heartbeat that was sent at `sent`.
  void confirm(MonotonicTime sent) {
    if (sent > confirmed_) confirmed_ = sent;
    if (sent + beat_ >= grace_until_) waits_for_fresh_ = false;
  }
  /// When the lease ends, from what is known now.
  [[nodiscard]] MonotonicTime end() const {
    const MonotonicTime end = confirmed_ + length_;
    return end > grace_until_ ? end : grace_until_;
  }

 private:
  MonotonicTime length_;
  MonotonicTime beat_;
  MonotonicTime confirmed_;
  MonotonicTime seen_;
  MonotonicTime grace_until_{0};
  bool waits_for_fresh_ = false;  // no answer yet to a heartbeat sent after the last pause
};

}  // namespace dlaunch
