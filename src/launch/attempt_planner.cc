#include "launch/attempt_planner.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "log/diagnostics.h"
#include "supervise/wording.h"

namespace dlaunch {

namespace {

/// Before the supervisor's own limit, so that the nodes are named.
Duration limit_within(Duration timeout) {
  return timeout - std::min<Duration>(timeout / 20, std::chrono::milliseconds(500));
}

}  // namespace

AttemptPlanner::AttemptPlanner(EventLoop& loop, const JobSpec& spec, ClusterSessions& sessions,
                               Done done)
    : spec_(spec),
      sessions_(sessions),
      done_(std::move(done)),
      limit_(loop),
      reach_(loop, {[this](NodeIndex node, const wire::Message& message) {
                      sessions_.send(node, message);
                    },
                    [this](Result<Meeting> meeting) { met(std::move(meeting)); }}) {}

void AttemptPlanner::begin(PlanContext context) {
  context_ = std::move(context);
  unchecked_.reset();
  sessions_.set_meeting(std::nullopt);
  limit_.after(limit_within(spec_.timeouts.connect), [this] { too_late(); });
  const auto nodes = nodes_to_meet(spec_, sessions_.cluster(), context_);
  if (!nodes || *nodes == 0) return make();  // which finds the same error
  reach_.begin(spec_, sessions_.cluster(), *nodes);
}

void AttemptPlanner::met(Result<Meeting> meeting) {
  if (!meeting) return done_(tl::unexpected(meeting.error()));
  diagnostics::info("the nodes meet at " + meeting->address + " (" + meeting->reason + ")");
  sessions_.set_meeting(std::move(*meeting));
  make();
}

void AttemptPlanner::make() {
  auto plan = make_plan(spec_, sessions_.cluster(), context_);
  if (!plan || !needs_place_check(*plan)) return done_(std::move(plan));
  check_places(std::move(*plan));
}

void AttemptPlanner::check_places(LaunchPlan plan) {
  missing_ = MissingPlaces(plan, sessions_.cluster());
  for (std::uint32_t node = 0; node < plan.nodes.size(); ++node)
    sessions_.send(NodeIndex(node), check_message(spec_, plan, NodeIndex(node)));
  unchecked_ = std::move(plan);
}

void AttemptPlanner::on_places(NodeIndex node, const wire::PlacesMissing& answer) {
  missing_.add(node, answer);
  if (!unchecked_ || !missing_.complete()) return;
  LaunchPlan plan = std::move(*unchecked_);
  unchecked_.reset();
  limit_.cancel();
  if (auto error = missing_.error()) return done_(tl::unexpected(std::move(*error)));
  done_(std::move(plan));
}

/// The reach check ends earlier by itself.
void AttemptPlanner::too_late() {
  if (!unchecked_) return;
  unchecked_.reset();
  done_(fail(exit_code::kNodeLost,
             missing_.awaited() + ": no answer within " +
                 wording::duration(spec_.timeouts.connect) +
                 " to whether what the ranks need is there: the network or a file system there "
                 "is slow\n         try: --set timeouts.connect=2m"));
}

void AttemptPlanner::node_lost() {
  reach_.cancel();
  limit_.cancel();
}

}  // namespace dlaunch
