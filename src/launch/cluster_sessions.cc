#include "launch/cluster_sessions.h"

#include <algorithm>
#include <cerrno>

#include <sys/random.h>
#include <sys/utsname.h>

#include "os/cgroup.h"
#include "os/clock.h"
#include "os/containment.h"
#include "plan/make_plan.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kCleanupLimit{10};
constexpr std::chrono::seconds kGuardianEnd{2};

std::string own_hostname() {
  utsname system{};
  ::uname(&system);
  return system.nodename;
}

}  // namespace

Result<LocalStart> fork_local_agent(const JobSpec& spec) {
  LocalStart start;
  if (::getrandom(&start.session, sizeof start.session, 0) != sizeof start.session) {
    return fail_errno(exit_code::kInternal, "getrandom", errno);
  }
  auto connection =
      connect_local(NodeIndex(0), start.session, spec.isolation == Isolation::pid_namespace);
  if (!connection) return tl::unexpected(connection.error());
  start.connection = std::move(*connection);
  return start;
}

ClusterSessions::ClusterSessions(EventLoop& loop, const JobSpec& spec, LocalStart local,
                                 Callbacks callbacks)
    : loop_(loop), spec_(spec), callbacks_(std::move(callbacks)) {
  Node node;
  node.name = own_hostname();
  node.address = "127.0.0.1";
  node.is_launcher = true;
  Session::Settings settings{node.name, local.session, spec_.timeouts.fence_after,
                             spec_.timeouts.lost_after};
  cluster_.nodes.push_back(std::move(node));
  sessions_.push_back(std::make_unique<Session>(loop_, NodeIndex(0), std::move(local.connection),
                                                std::move(settings), callbacks_of(NodeIndex(0))));
}

Session::Callbacks ClusterSessions::callbacks_of(NodeIndex node) {
  return {[this, node](Event event) {
            local_lost_ = local_lost_ || (cluster_.nodes[node.value].is_launcher &&
                                          std::holds_alternative<event::NodeLost>(event));
            callbacks_.on_event(std::move(event));
          },
          [this, node](NodeFacts facts) { cluster_.nodes[node.value].facts = std::move(facts); },
          [this](const wire::OutputView& output) { callbacks_.on_output(output); },
          [this](const wire::OutputEnd& end) { callbacks_.on_output_end(end); },
          [this](const wire::StdinTaken& taken) { callbacks_.on_stdin_taken(taken); },
          [this](std::string text) { callbacks_.on_notice(std::move(text)); }};
}

wire::FactsRequest ClusterSessions::facts_request(Attempt attempt) const {
  wire::FactsRequest request;
  request.fixed_ports = fixed_ports(spec_);
  request.ports = ports_wanted(spec_);
  request.attempt = attempt;
  return request;
}

void ClusterSessions::connect(NodeIndex node) {
  sessions_[node.value]->start(facts_request(Attempt(0)));
}

void ClusterSessions::gather(NodeIndex node, Attempt attempt) {
  sessions_[node.value]->gather(facts_request(attempt));
}

void ClusterSessions::release_all() {
  for (auto& session : sessions_) session->release();
}

bool ClusterSessions::all_ended() const {
  return std::all_of(sessions_.begin(), sessions_.end(),
                     [](const auto& session) { return session->ended(); });
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
