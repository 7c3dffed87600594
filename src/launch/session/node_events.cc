#include "launch/session/node_events.h"

#include <utility>

#include "text/plain_text.h"

namespace dlaunch {

Event event_of(NodeId node, const wire::Facts& facts) {
  return event::NodeReady{node, facts.attempt};
}

std::vector<Event> events_of(const wire::RanksStarted& started, NodeClock& clock) {
  std::vector<Event> events;
  events.reserve(started.ranks.size());
  for (const auto& one : started.ranks) {
    events.emplace_back(
        event::RankStarted{started.attempt, one.rank, one.pid, clock.corrected(one.at)});
  }
  return events;
}

Event event_of(wire::RankNotStarted failed, NodeClock& clock) {
  return event::RankNotStarted{failed.attempt, failed.rank, std::move(failed.failure),
                               clock.corrected(failed.at), clock.error()};
}

Event event_of(const wire::RankExited& exited, NodeClock& clock) {
  return event::RankExited{exited.attempt,      exited.rank,
                           exited.status,       clock.corrected(exited.at),
                           exited.after_signal, clock.error()};
}

Event event_of(NodeId node, const wire::AttemptEnded& ended) {
  return event::NodeEmpty{ended.attempt, node, ended.leftovers};
}

Event event_of(wire::PortTaken taken) {
  return event::PortTaken{taken.attempt, taken.rank, std::move(taken.taken)};
}

Event event_of(NodeId node, wire::PreemptionNotice notice) {
  event::Preempted event{notice.attempt, node, plain_line(notice.reason), std::nullopt};
  if (notice.left_ms >= 0) event.left = Duration(notice.left_ms);
  return event;
}

event::StarterEnded event_of(NodeId node, const wire::MpirunEnded& ended, NodeClock& clock) {
  return {ended.attempt,      node, ended.status, clock.corrected(ended.at),
          ended.after_signal, "",   clock.error()};
}

}  // namespace dlaunch
