#include "launch/attempt_planner.h"

#include <utility>

#include "log/diagnostics.h"

namespace dlaunch {

AttemptPlanner::AttemptPlanner(EventLoop& loop, const JobSpec& spec, ClusterSessions& sessions,
                               Done done)
    : spec_(spec),
      sessions_(sessions),
      done_(std::move(done)),
      reach_(loop, {[this](NodeIndex node, const wire::Message& message) {
                      sessions_.send(node, message);
                    },
                    [this](Result<Meeting> meeting) { met(std::move(meeting)); }}) {}

void AttemptPlanner::begin(PlanContext context) {
  context_ = std::move(context);
  unchecked_.reset();
  sessions_.set_meeting(std::nullopt);
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
  if (auto error = missing_.error()) return done_(tl::unexpected(std::move(*error)));
  done_(std::move(plan));
}

}  // namespace dlaunch
