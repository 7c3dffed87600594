// The agent's right to run ranks without asking again. A launcher gives a node up when it has heard
// nothing of it for lost_after, and may then start the same work elsewhere; so the ranks here must
// be dead before. The lease therefore counts from the sending of the latest heartbeat that the
// launcher is known to have heard, not from what was heard of the launcher: with a link that works
// in one direction only, the two differ. fence_after + heartbeat + 2 s < lost_after
// (spec/validate.cc). Pure; one thread at a time.
#pragma once

#include "model/time.h"

namespace dlaunch {

class Lease {
 public:
  /// `beat`: how often still_here() is called, about.
  Lease(MonotonicTime length, MonotonicTime beat, MonotonicTime now)
      : length_(length), beat_(beat), confirmed_(now), seen_(now) {}

  /// To be called at every beat. An agent that was stopped (SIGSTOP, a debugger, a swapping
  /// machine) finds answers that are as old as the stop was long; before it accuses anybody it gets
  /// one beat for a fresh one. Until that has come there is no second one: an agent whose every
  /// turn is late would else never end.
  void still_here(MonotonicTime now) {
    if (now - seen_ > 2 * beat_ && !waits_for_fresh_) {
      waits_for_fresh_ = true;
      grace_until_ = now + beat_;
    }
    seen_ = now;
  }
  /// The launcher has heard the heartbeat that was sent then.
  void confirm(MonotonicTime sent) {
    if (sent > confirmed_) confirmed_ = sent;
    if (sent + beat_ >= grace_until_) waits_for_fresh_ = false;
  }
  /// When it ends, as far as is known now.
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
  bool waits_for_fresh_ = false;  // an answer to a heartbeat sent after the last stop
};

}  // namespace dlaunch
