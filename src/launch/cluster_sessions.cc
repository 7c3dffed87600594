#include "launch/cluster_sessions.h"

#include <algorithm>
#include <cerrno>

#include <sys/random.h>

#include "launch/this_machine.h"
#include "os/build_id.h"
#include "os/cgroup.h"
#include "os/clock.h"
#include "os/containment.h"
#include "plan/make_plan.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kCleanupLimit{10};
constexpr std::chrono::seconds kGuardianEnd{2};

}  // namespace

Result<LocalStart> fork_local_agents(const JobSpec& spec) {
  LocalStart start;
  if (::getrandom(&start.session, sizeof start.session, 0) != sizeof start.session) {
    return fail_errno(exit_code::kInternal, "getrandom", errno);
  }
  auto targets = node_targets(spec, this_machine());
  if (!targets) return tl::unexpected(targets.error());
  start.targets = std::move(*targets);
  for (std::uint32_t i = 0; i < start.targets.size(); ++i) {
    start.forked.emplace_back();
    if (start.targets[i].way != NodeTarget::Way::fork) continue;
    auto connection =
        connect_local(NodeIndex(i), start.session, spec.isolation == Isolation::pid_namespace);
    if (!connection) return tl::unexpected(connection.error());
    start.forked.back() = std::move(*connection);
  }
  return start;
}

ClusterSessions::ClusterSessions(EventLoop& loop, const JobSpec& spec, LocalStart local,
                                 Callbacks callbacks)
    : loop_(loop),
      spec_(spec),
      callbacks_(std::move(callbacks)),
      start_(std::move(local)),
      sessions_(start_.targets.size()),
      connector_(loop, start_.targets,
                 {spec.connect, start_.session, spec.isolation == Isolation::pid_namespace,
                  spec.timeouts.connect, own_build_id(), start_.session}) {
  const bool only_one = start_.targets.size() == 1;
  for (const NodeTarget& target : start_.targets)
    cluster_.nodes.push_back(node_of(target, only_one));
  for (std::uint32_t i = 0; i < start_.forked.size(); ++i) {
    if (start_.forked[i]) begin_session(NodeIndex(i), std::move(*start_.forked[i]));
  }
}

void ClusterSessions::begin_session(NodeIndex node, Connection connection) {
  Session::Settings settings{cluster_.nodes[node.value].name, start_.session,
                             spec_.timeouts.fence_after, spec_.timeouts.lost_after};
  if (connection.remote) settings.way_back = way_back_to(node);
  sessions_[node.value] = std::make_unique<Session>(loop_, node, std::move(connection),
                                                    std::move(settings), callbacks_of(node));
}

Reconnection::Way ClusterSessions::way_back_to(NodeIndex node) {
  return {[this, node](Reconnection::Opened done, Duration limit) {
            connector_.open(node, Purpose::attach, std::move(done), limit);
          },
          [this, node] { connector_.cancel(node); }};
}

Session::Callbacks ClusterSessions::callbacks_of(NodeIndex node) {
  return {[this, node](Event event) {
            local_lost_ = local_lost_ || (cluster_.nodes[node.value].is_launcher &&
                                          std::holds_alternative<event::NodeLost>(event));
            callbacks_.on_event(node, std::move(event));
          },
          [this, node](NodeFacts facts) { cluster_.nodes[node.value].facts = std::move(facts); },
          [this, node](const wire::OutputView& output) { callbacks_.on_output(node, output); },
          [this, node](const wire::OutputEnd& end) { callbacks_.on_output_end(node, end); },
          [this](const wire::StdinTaken& taken) { callbacks_.on_stdin_taken(taken); },
          [this](std::string text) { callbacks_.on_notice(std::move(text)); },
          [this, node](const wire::PlacesMissing& answer) {
            if (callbacks_.on_places) callbacks_.on_places(node, answer);
          },
          [this, node](const wire::FetchedOutput& fetched) {
            if (callbacks_.on_fetched) callbacks_.on_fetched(node, fetched);
          },
          [this, node](Duration outage, const std::string& cause) {
            if (callbacks_.on_resumed) callbacks_.on_resumed(node, outage, cause);
          },
          [this, node](const wire::Message& answer) {
            if (callbacks_.on_reach) callbacks_.on_reach(node, answer);
          },
          [this, node](const wire::Message& answer) {
            if (callbacks_.on_sync) callbacks_.on_sync(node, answer);
          }};
}

wire::FactsRequest ClusterSessions::facts_request(NodeIndex node, Attempt attempt) const {
  wire::FactsRequest request;
  request.fixed_ports = fixed_ports(spec_);
  request.ports = ports_wanted(spec_);
  request.attempt = attempt;
  if (!run_id_.empty() && !cluster_.nodes[node.value].is_launcher)
    request.output_name = run_id_ + '-' + std::to_string(node.value);
  request.variables = kept_variables(spec_);
  return request;
}

void ClusterSessions::connect(NodeIndex node) {
  if (sessions_[node.value]) return sessions_[node.value]->start(facts_request(node, Attempt(0)));
  connector_.open(node, Purpose::fresh, [this, node](Result<Connection> connection) {
    connected(node, std::move(connection));
  });
}

void ClusterSessions::connected(NodeIndex node, Result<Connection> connection) {
  if (!connection)
    return callbacks_.on_event(node, event::NodeLost{node, std::move(connection.error().message)});
  begin_session(node, std::move(*connection));
  sessions_[node.value]->start(facts_request(node, Attempt(0)));
}

void ClusterSessions::gather(NodeIndex node, Attempt attempt) {
  if (sessions_[node.value]) sessions_[node.value]->gather(facts_request(node, attempt));
}

void ClusterSessions::send(NodeIndex node, const wire::Message& message) {
  if (sessions_[node.value]) sessions_[node.value]->send(message);
}

void ClusterSessions::release(NodeIndex node) {
  // A session that is on its way back needs the connector to say goodbye.
  if (!sessions_[node.value]) return connector_.cancel(node);
  sessions_[node.value]->release();
}

void ClusterSessions::release_all() {
  for (std::uint32_t i = 0; i < sessions_.size(); ++i) release(NodeIndex(i));
}

bool ClusterSessions::all_ended() const {
  return std::all_of(sessions_.begin(), sessions_.end(),
                     [](const auto& session) { return !session || session->ended(); });
}

void ClusterSessions::reap_processes(const std::set<pid_t>& before) {
  // Guardians end right after their agents; whatever is then left below us has lost both.
  const MonotonicTime end =
      monotonic_now() + (local_lost_ ? MonotonicTime(0) : MonotonicTime(kGuardianEnd));
  bool none_left = false;
  const auto clean = [&] { return none_left || (!before.empty() && descendants(before).empty()); };
  while (!clean() && monotonic_now() < end) {
    if (reap_one(none_left) || none_left) continue;
    wait_for_child(std::chrono::milliseconds(50));
  }
  if (!clean()) kill_descendants(kCleanupLimit, before);
  if (local_lost_) sweep_abandoned_cgroups();
}

}  // namespace dlaunch
