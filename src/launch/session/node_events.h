// Turns an agent's messages into events for the supervisor. Times are corrected by what is known
// about the node's clock; times of one node keep their order. Pure.
#pragma once

#include <vector>

#include "launch/session/node_clock.h"
#include "model/event.h"
#include "model/ids.h"
#include "wire/message.h"

namespace dlaunch {

[[nodiscard]] Event event_of(NodeId node, const wire::Facts& facts);
[[nodiscard]] std::vector<Event> events_of(const wire::RanksStarted& started, NodeClock& clock);
[[nodiscard]] Event event_of(wire::RankNotStarted failed, NodeClock& clock);
[[nodiscard]] Event event_of(const wire::RankExited& exited, NodeClock& clock);
[[nodiscard]] Event event_of(NodeId node, const wire::AttemptEnded& ended);
[[nodiscard]] Event event_of(wire::PortTaken taken);
[[nodiscard]] Event event_of(NodeId node, wire::PreemptionNotice notice);
[[nodiscard]] event::StarterEnded event_of(NodeId node, const wire::MpirunEnded& ended,
                                          NodeClock& clock);

}  // namespace dlaunch
