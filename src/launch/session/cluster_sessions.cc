#include "launch/session/cluster_sessions.h"

#include <algorithm>
#include <cerrno>

#include <sys/random.h>

#include "launch/connect/this_machine.h"
#include "launch/mpi/pmix_start.h"
#include "os/build_id.h"
#include "os/cgroup.h"
#include "os/clock.h"
#include "os/containment.h"
#include "plan/carried.h"
#include "plan/container.h"
#include "plan/make_plan.h"
#include "plan/mpirun_plan.h"

extern char** environ;

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kCleanupLimit{10};
constexpr std::chrono::seconds kGuardianEnd{2};
// The heartbeats of other nodes wait for it.
constexpr std::chrono::milliseconds kSweepLimit{1000};

/// A folder for each session: those of lost ones stay as they are, for whoever was told of them.
std::string output_name(const std::string& run, NodeIndex node, std::uint32_t tries) {
  const std::string name = run + '-' + std::to_string(node.value);
  return tries <= 1 ? name : name + '-' + std::to_string(tries);
}

}  // namespace

Result<LocalStart> fork_local_agents(const JobSpec& spec, const AttachedFront& front) {
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
    auto connection = connect_local(NodeIndex(i), start.session,
                                    spec.isolation == Isolation::pid_namespace, front);
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
      ids_(start_.targets.size(), start_.session),
      tries_(start_.targets.size(), 0),
      connector_(
          loop, start_.targets,
          {way_of_connecting(spec), start_.session, spec.isolation == Isolation::pid_namespace,
           spec.timeouts.connect, own_build_id(), start_.session}) {
  const bool only_one = start_.targets.size() == 1;
  for (const NodeTarget& target : start_.targets)
    cluster_.nodes.push_back(node_of(target, only_one));
  for (std::uint32_t i = 0; i < start_.forked.size(); ++i) {
    if (start_.forked[i]) begin_session(NodeIndex(i), std::move(*start_.forked[i]));
  }
}

void ClusterSessions::begin_session(NodeIndex node, Connection connection) {
  Session::Settings settings{cluster_.nodes[node.value].name, ids_[node.value],
                             spec_.timeouts.fence_after, spec_.timeouts.lost_after};
  if (connection.remote) settings.way_back = way_back_to(node);
  const Connect::Via via = way_of_connecting(spec_).via;
  settings.codes_are_its_own =
      connection.remote && (via == Connect::Via::command || via == Connect::Via::slurm);
  sessions_[node.value] = std::make_unique<Session>(loop_, node, std::move(connection),
                                                    std::move(settings), callbacks_of(node));
}

Reconnection::Way ClusterSessions::way_back_to(NodeIndex node) {
  return {[this, node](Reconnection::Opened done, Duration limit) {
            connector_.open(node, Purpose::attach, std::move(done), limit);
          },
          [this, node] { connector_.cancel(node); }};
}

/// A lost session has ended and says nothing more; should it, it is not taken for the next one.
Session::Callbacks ClusterSessions::callbacks_of(NodeIndex node) {
  const auto from_now = [this, node, id = ids_[node.value]](auto call) {
    return [this, node, id, call](auto&&... what) {
      if (ids_[node.value] == id) call(std::forward<decltype(what)>(what)...);
    };
  };
  return {
      from_now([this, node](Event event) {
        local_lost_ = local_lost_ || (cluster_.nodes[node.value].is_launcher &&
                                      std::holds_alternative<event::NodeLost>(event));
        callbacks_.on_event(node, std::move(event));
      }),
      from_now(
          [this, node](NodeFacts facts) { cluster_.nodes[node.value].facts = std::move(facts); }),
      from_now(
          [this, node](const wire::OutputView& output) { callbacks_.on_output(node, output); }),
      from_now([this, node](const wire::OutputEnd& end) { callbacks_.on_output_end(node, end); }),
      from_now([this](const wire::StdinTaken& taken) { callbacks_.on_stdin_taken(taken); }),
      from_now([this](std::string text) { callbacks_.on_notice(std::move(text)); }),
      from_now([this, node](const wire::PlacesMissing& answer) {
        if (callbacks_.on_places) callbacks_.on_places(node, answer);
      }),
      from_now([this, node](const wire::FetchedOutput& fetched) {
        if (callbacks_.on_fetched) callbacks_.on_fetched(node, fetched);
      }),
      from_now([this, node](Duration outage, const std::string& cause) {
        if (callbacks_.on_resumed) callbacks_.on_resumed(node, outage, cause);
      }),
      from_now([this, node](const wire::Message& answer) {
        if (callbacks_.on_reach) callbacks_.on_reach(node, answer);
      }),
      from_now([this, node](const wire::Message& answer) {
        if (callbacks_.on_sync) callbacks_.on_sync(node, answer);
      }),
      from_now([this, node](Duration silence) {
        if (callbacks_.on_silent) callbacks_.on_silent(node, silence);
      }),
      from_now([this, node](wire::Message message) {
        if (callbacks_.on_pmix) callbacks_.on_pmix(node, std::move(message));
      }),
      from_now([this, node](int signal) {
        if (callbacks_.on_signalled) callbacks_.on_signalled(node, signal);
      }),
      from_now([this, node](const wire::Inspected& answer) {
        if (callbacks_.on_inspected) callbacks_.on_inspected(node, answer);
      })};
}

wire::FactsRequest ClusterSessions::facts_request(NodeIndex node, Attempt attempt) const {
  wire::FactsRequest request;
  request.fixed_ports = fixed_ports(spec_);
  request.ports = ports_wanted(spec_);
  request.attempt = attempt;
  if (!run_id_.empty() && !cluster_.nodes[node.value].is_launcher)
    request.output_name = output_name(run_id_, node, tries_[node.value]);
  request.variables = kept_variables(spec_);
  if (node.value == 0) request.mpirun = mpirun_programs(spec_);
  request.containers = container_programs(spec_);
  // A run has its servers started before its ranks, and each says then what is wrong.
  request.pmix = run_id_.empty() && wants_pmix(spec_);
  if (!request.mpirun.empty()) request.search_path = find_variable(spec_.env, "PATH");
  const bool knows_mpi = uses_mpi(spec_.framework) || spec_.mpi.launcher == Mpi::Launcher::mpirun;
  if (knows_mpi && !cluster_.nodes[node.value].is_launcher)
    request.carried = carried_variables(environment_from_block(environ));
  return request;
}

void ClusterSessions::connect(NodeIndex node, Attempt attempt, Duration within) {
  const bool first = ++tries_[node.value] == 1;
  if (first && sessions_[node.value])
    return sessions_[node.value]->start(facts_request(node, attempt));
  if (!first && !begin_again(node)) return fail_later(node, "no number for a session can be drawn");
  if (!end_what_is_left(node))
    return fail_later(node, "processes of its lost agent are still there");
  open(node, attempt, within);
}

void ClusterSessions::open(NodeIndex node, Attempt attempt, Duration within) {
  const auto answer = [this, node, attempt, id = ids_[node.value],
                       number = tries_[node.value]](Result<Connection> connection) {
    const bool wanted = ids_[node.value] == id && tries_[node.value] == number;
    if (wanted) connected(node, attempt, std::move(connection));
  };
  connector_.open(node, Purpose::fresh, answer, within);
}

void ClusterSessions::connected(NodeIndex node, Attempt attempt, Result<Connection> connection) {
  if (!connection)
    return callbacks_.on_event(node, event::NodeLost{node, std::move(connection.error().message)});
  begin_session(node, std::move(*connection));
  sessions_[node.value]->start(facts_request(node, attempt));
}

/// As all answers: from the loop.
void ClusterSessions::fail_later(NodeIndex node, std::string what) {
  loop_.post([this, living = alive_, node, what = std::move(what)] {
    if (*living) callbacks_.on_event(node, event::NodeLost{node, what});
  });
}

/// Each try has an id of its own: an agent that one has left behind, still waiting for its Hello,
/// is not taken for that of the next one. What the last session had may be there still, whatever
/// its lease says: a node that was frozen or suspended goes on where it stood, clocks included, and
/// an agent that is blocked ends nothing. So the next agent looks for it.
bool ClusterSessions::begin_again(NodeIndex node) {
  std::erase_if(retired_, [](const auto& session) { return session->processes().empty(); });
  if (sessions_[node.value]) {
    connector_.set_lost_session(node, ids_[node.value]);
    retired_.push_back(std::move(sessions_[node.value]));
  }
  std::uint64_t& id = ids_[node.value];
  if (::getrandom(&id, sizeof id, 0) != sizeof id) return false;
  connector_.set_session(node, id);
  return true;
}

/// On this machine a guardian and an agent that were killed in one instant may have left processes,
/// which are our children now; and what is stopped would go on one day.
bool ClusterSessions::end_what_is_left(NodeIndex node) {
  if (!cluster_.nodes[node.value].is_launcher) return true;
  std::set<pid_t> at_work;
  for (const auto& session : sessions_) {
    if (!session) continue;
    for (const pid_t pid : session->processes()) at_work.insert(pid);
  }
  for (const pid_t pid : connector_.processes()) at_work.insert(pid);
  if (!end_descendants_but(at_work, kSweepLimit)) return false;
  sweep_abandoned_cgroups();
  local_lost_ = false;
  return true;
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
