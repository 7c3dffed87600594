#include "launch/session/cluster_sessions.h"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

#include "launch/connect/node_targets.h"
#include "launch/connect/shared_masters.h"
#include "launch/mpi/pmix_start.h"
#include "os/build_id.h"
#include "os/cgroup.h"
#include "os/clock.h"
#include "os/containment.h"
#include "os/random.h"
#include "plan/container.h"
#include "plan/inherited_env.h"
#include "plan/make_plan.h"
#include "plan/mpirun.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kCleanupLimit{10};
constexpr std::chrono::seconds kGuardianEnd{2};
// Limit for a sweep, during which heartbeats of other nodes wait.
constexpr std::chrono::milliseconds kSweepLimit{1000};

/// One folder per session: folders of lost sessions stay unchanged, because the user was told
/// their names.
std::string output_name(const std::string& run, NodeId node, std::uint32_t tries) {
  const std::string name = run + '-' + std::to_string(node.value);
  return tries <= 1 ? name : name + '-' + std::to_string(tries);
}

}  // namespace

Result<LocalStart> fork_local_agents(const JobSpec& spec, const AttachedFront& front) {
  LocalStart start;
  start.session = random_number();
  auto targets = node_targets(spec, this_machine(!spec.hosts.hosts.empty()));
  if (!targets) return tl::unexpected(targets.error());
  start.targets = std::move(*targets);
  for (std::uint32_t i = 0; i < start.targets.size(); ++i) {
    start.forked.emplace_back();
    if (!start.targets[i].is_local()) continue;
    auto connection = connect_local(NodeId(i), start.session,
                                    spec.isolation == Isolation::pid_namespace, front);
    if (!connection) return tl::unexpected(connection.error());
    start.forked.back() = std::move(*connection);
  }
  return start;
}

ClusterSessions::ClusterSessions(EventLoop& loop, const JobSpec& spec, LocalStart local,
                                 NodeListener listener)
    : loop_(loop),
      spec_(spec),
      listener_(std::move(listener)),
      start_(std::move(local)),
      connector_(loop, start_.targets,
                 {spec.connect, start_.session, spec.isolation == Isolation::pid_namespace,
                  spec.timeouts.connect, own_build_id(), start_.session,
                  spec.stage_via == StageVia::launcher
                      ? nullptr
                      : NodeConnector::Serve([this](NodeId node, const wire::ServeProgram& order) {
                          Session* const session = session_of(node);
                          if (session == nullptr || session->ended()) return false;
                          session->send(order);
                          return true;
                        }),
                  listener_.on_wait}),
      kept_(loop, [this](std::string text) {
        listener_.on_news(cluster_.nodes.front().id, node_news::Remark{std::move(text)});
      }) {
  const bool only_one = start_.targets.size() == 1;
  for (std::uint32_t i = 0; i < start_.targets.size(); ++i) {
    cluster_.nodes.push_back(node_of(start_.targets[i], only_one));
    cluster_.nodes.back().id = NodeId(i);
    members_[NodeId(i)].id = start_.session;
    if (start_.forked[i]) begin_session(NodeId(i), std::move(*start_.forked[i]));
  }
  std::vector<std::optional<Connection>>().swap(start_.forked);
}

NodeId ClusterSessions::add(NodeTarget target) {
  const NodeId id(static_cast<std::uint32_t>(start_.targets.size()));
  Node& node = cluster_.nodes.emplace_back(node_of(target, false));
  node.id = id;
  start_.targets.push_back(std::move(target));
  members_[id].id = start_.session;
  // A lone node has the loopback address, which other nodes cannot reach.
  if (Node& first = cluster_.nodes.front(); cluster_.nodes.size() == 2)
    first.address = node_of(start_.targets[first.id.value], false).address;
  return id;
}

void ClusterSessions::remove(NodeId node) {
  if (find(node) == nullptr && returned_.erase(node) == 0) return;
  release(node);
  Member& member = members_.at(node);
  if (member.session) {
    connector_.set_lost_session(node, member.id);
    retired_.push_back(std::move(member.session));
  }
  member.id = 0;
  member.is_kept = false;
  auto& nodes = cluster_.nodes;
  auto gone = std::find_if(nodes.begin(), nodes.end(),
                           [node](const Node& one) { return one.id == node; });
  const auto used = std::min(
      nodes.size(), spec_.nodes ? static_cast<std::size_t>(spec_.nodes->max) : nodes.size());
  const auto spare = nodes.begin() + static_cast<std::ptrdiff_t>(used);
  if (gone < spare && spare != nodes.end()) {
    *gone = std::move(*spare);
    gone = spare;
  } else if (gone < spare) {
    vacant_.push_back(static_cast<std::size_t>(gone - nodes.begin()));
  }
  if (gone != nodes.end()) nodes.erase(gone);
}

void ClusterSessions::set_ranks_run(bool run) {
  connector_.set_ranks_run(run);
  if (run) vacant_.clear();  // these ranks have the positions of a plan without the node
}

Session* ClusterSessions::session_of(NodeId node) const {
  const auto member = members_.find(node);
  return member == members_.end() ? nullptr : member->second.session.get();
}

Node* ClusterSessions::find(NodeId node) {
  // Until one is taken out, the nodes are in the order of their ids.
  if (node.value < size() && cluster_.nodes[node.value].id == node)
    return &cluster_.nodes[node.value];
  const auto found = std::find_if(cluster_.nodes.begin(), cluster_.nodes.end(),
                                  [node](const Node& one) { return one.id == node; });
  return found == cluster_.nodes.end() ? nullptr : &*found;
}

bool ClusterSessions::is_launcher(NodeId node) const {
  return start_.targets[node.value].is_local();
}

void ClusterSessions::set_run(std::string run_id) {
  run_id_ = std::move(run_id);
  std::map<NodeId, std::string> keys;
  for (const Node& node : cluster_.nodes) {
    const NodeTarget& target = start_.targets[node.id.value];
    if (!target.is_local()) keys.emplace(node.id, target_key(spec_.connect, target));
  }
  const bool needs_own = spec_.isolation == Isolation::pid_namespace;
  kept_.ask(run_id_, keys,
            needs_own ? "isolation: pid-namespace needs agents of its own" : std::string());
}

void ClusterSessions::begin_session(NodeId node, Connection connection, bool is_kept) {
  Member& member = members_.at(node);
  member.is_kept = is_kept;
  member.is_ready = false;
  Session::Settings settings{start_.targets[node.value].host.name, member.id,
                             spec_.timeouts.fence_after, spec_.timeouts.lost_after};
  if (connection.remote) settings.way_back = way_back_to(node);
  settings.codes_are_its_own = start_.targets[node.value].connector->own_exit_codes;
  settings.is_kept = is_kept;
  member.session = std::make_unique<Session>(loop_, node, std::move(connection),
                                             std::move(settings), listener_of(node));
}

Reconnection::Way ClusterSessions::way_back_to(NodeId node) {
  return {.open =
              [this, node](Reconnection::Opened done, Duration limit) {
                connector_.open(node, Purpose::attach, std::move(done), limit);
              },
          .cancel = [this, node] { connector_.cancel(node); }};
}

/// A session that was replaced has ended and sends nothing more; if it did, it would not be taken
/// for its successor. The same holds for a node that was taken out of the set.
Session::Listener ClusterSessions::listener_of(NodeId node) {
  const auto is_present = [this, node, id = members_.at(node).id] {
    const auto member = members_.find(node);
    return member != members_.end() && member->second.id == id;
  };
  return {.on_message =
              [this, node, is_present](wire::FromAgent message) {
                if (!is_present()) return;
                if (auto* facts = std::get_if<wire::Facts>(&message)) {
                  Node* const present = find(node);
                  if (present != nullptr) members_.at(node).is_ready = true;
                  (present != nullptr ? *present : returned_.at(node)).facts =
                      std::move(facts->facts);
                }
                listener_.on_message(node, std::move(message));
              },
          .on_news =
              [this, node, is_present](NodeNews news) {
                if (!is_present()) return;
                if (std::holds_alternative<event::NodeLost>(news)) connector_.has_no_agent(node);
                if (fall_back(node, news)) return;
                local_lost_ = local_lost_ ||
                              (is_launcher(node) && std::holds_alternative<event::NodeLost>(news));
                listener_.on_news(node, std::move(news));
              },
          .on_served =
              [this, node, is_present](const wire::ProgramServed& answer) {
                if (is_present()) connector_.served(node, answer);
              }};
}

wire::FactsRequest ClusterSessions::facts_request(NodeId node, Attempt attempt) const {
  wire::FactsRequest request;
  request.fixed_ports = fixed_ports(spec_);
  request.ports = ports_wanted(spec_);
  request.attempt = attempt;
  if (!run_id_.empty() && !is_launcher(node))
    request.output_name = output_name(run_id_, node, members_.at(node).tries);
  request.variables = kept_variables(spec_);
  if (node == cluster_.nodes.front().id) request.mpirun = mpirun_programs(spec_);
  request.containers = container_programs(spec_);
  // A run starts its PMIx servers before its ranks, and each server reports what is wrong.
  request.pmix = !is_run_ && wants_pmix(spec_);
  // Reading /sys for this takes a lone node longer than all its other facts.
  request.network = !is_run_ || start_.targets.size() > 1 || !request.mpirun.empty();
  if (!request.mpirun.empty()) request.search_path = find_variable(spec_.env, "PATH");
  const bool knows_mpi = uses_mpi(spec_.framework) || spec_.mpi.launcher == Mpi::Launcher::mpirun;
  if (knows_mpi && !is_launcher(node))
    request.carried = carried_variables(environment_from_block(environ));
  return request;
}

void ClusterSessions::begin_run() {
  is_run_ = true;
  for (const auto& [node, member] : members_) {
    if (member.session) member.session->start(facts_request(node, Attempt()));
  }
  loop_.poll();
}

void ClusterSessions::connect(NodeId node, Attempt attempt, Duration within) {
  Member& member = members_.at(node);
  if (find(node) == nullptr) {
    returned_[node] = node_of(start_.targets[node.value], false);
    returned_[node].id = node;
  }
  const bool first = ++member.tries == 1;
  if (first && member.session) {
    if (!is_run_) member.session->start(facts_request(node, attempt));
    return;
  }
  if (!first) begin_again(node);
  if (!end_what_is_left(node))
    return fail_later(node, "processes of its lost agent are still there");
  kept_.expects(node) ? open_kept(node, attempt, within) : open(node, attempt, within);
}

void ClusterSessions::open_kept(NodeId node, Attempt attempt, Duration within) {
  const auto is_wanted = [this, node, id = members_.at(node).id, number = members_.at(node).tries] {
    const auto now = members_.find(node);
    return now != members_.end() && now->second.id == id && now->second.tries == number;
  };
  kept_.take(node, [this, node, attempt, within, is_wanted](std::optional<Connection> connection) {
    if (!is_wanted()) return;
    if (!connection) return open(node, attempt, within);
    members_.at(node).attempt = attempt;
    begin_session(node, std::move(*connection), true);
    session_of(node)->start(facts_request(node, attempt));
    if (!is_launcher(node)) connector_.has_program(node);
  });
}

/// A kept node whose agent does not answer is connected as if it were not kept: it was rebooted,
/// or its connection has ended a moment ago.
bool ClusterSessions::fall_back(NodeId node, const NodeNews& news) {
  const Session* const session = session_of(node);
  if (!std::holds_alternative<event::NodeLost>(news) || session == nullptr) return false;
  if (!members_.at(node).is_kept || session->is_greeted()) return false;
  loop_.post([this, living = alive_, node, id = members_.at(node).id] {
    if (!*living || members_.at(node).id != id) return;
    Member& member = members_.at(node);
    begin_again(node);
    member.is_kept = false;
    open(node, member.attempt, Duration(0));
  });
  return true;
}

void ClusterSessions::open(NodeId node, Attempt attempt, Duration within) {
  const Member& member = members_.at(node);
  const auto answer = [this, node, attempt, id = member.id,
                       number = member.tries](Result<Connection> connection) {
    const auto now = members_.find(node);
    const bool wanted =
        now != members_.end() && now->second.id == id && now->second.tries == number;
    if (wanted) connected(node, attempt, std::move(connection));
  };
  connector_.open(node, Purpose::fresh, answer, within);
}

void ClusterSessions::connected(NodeId node, Attempt attempt, Result<Connection> connection) {
  if (!connection)
    return listener_.on_news(node, event::NodeLost{node, std::move(connection.error().message)});
  begin_session(node, std::move(*connection));
  session_of(node)->start(facts_request(node, attempt));
  if (!is_launcher(node)) connector_.has_program(node);
}

/// Reports the loss from the loop, like all answers.
void ClusterSessions::fail_later(NodeId node, std::string what) {
  loop_.post([this, living = alive_, node, what = std::move(what)] {
    if (*living) listener_.on_news(node, event::NodeLost{node, what});
  });
}

/// Each try has its own id: an agent that an earlier try left behind, still waiting for its Hello,
/// is not taken for the next try's. The last session's processes may still exist, whatever its
/// lease says: a node that was frozen or suspended continues where it was, clocks included, and an
/// agent that is blocked ends nothing. So the next agent looks for those processes.
void ClusterSessions::begin_again(NodeId node) {
  std::erase_if(retired_, [](const auto& session) { return session->processes().empty(); });
  connector_.has_no_agent(node);
  Member& member = members_.at(node);
  if (member.session) {
    connector_.set_lost_session(node, member.id);
    retired_.push_back(std::move(member.session));
  }
  member.id = random_number();
  connector_.set_session(node, member.id);
}

/// On this machine a guardian and an agent that were killed at the same instant may have left
/// processes, which are our children now; stopped ones would continue some day.
bool ClusterSessions::end_what_is_left(NodeId node) {
  if (!is_launcher(node)) return true;
  std::set<pid_t> at_work;
  for (const auto& [other, member] : members_) {
    if (!member.session) continue;
    for (const pid_t pid : member.session->processes()) at_work.insert(pid);
  }
  for (const pid_t pid : connector_.processes()) at_work.insert(pid);
  if (spec_.connect.persist) at_work.merge(shared_masters());
  if (!end_descendants_but(at_work, kSweepLimit)) return false;
  sweep_abandoned_cgroups();
  local_lost_ = false;
  return true;
}

void ClusterSessions::gather(NodeId node, Attempt attempt) {
  Session* const session = session_of(node);
  if (session == nullptr) return;
  if (const auto returned = returned_.find(node); returned != returned_.end()) {
    auto& nodes = cluster_.nodes;
    std::size_t position = nodes.size();
    if (!vacant_.empty()) position = std::min(position, vacant_.back());
    if (!vacant_.empty()) vacant_.pop_back();
    nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(position),
                 std::move(returned->second));
    returned_.erase(returned);
  }
  session->send(facts_request(node, attempt));
}

void ClusterSessions::send(NodeId node, const wire::ToAgent& message) {
  if (Session* const session = session_of(node)) session->send(message);
}

void ClusterSessions::release(NodeId node) {
  // A session that is reconnecting needs the connector to send its Bye.
  connector_.has_no_agent(node);
  Session* const session = session_of(node);
  if (session == nullptr) return connector_.cancel(node);
  session->release(members_.at(node).is_kept && !session->was_reconnected());
}

/// Gives back the nodes whose agents wait for another session.
void ClusterSessions::give_back_kept() {
  for (const auto& [node, member] : members_) {
    const bool is_kept = member.is_kept && member.session && !member.session->was_reconnected();
    if (is_kept && member.session->take_connection()) kept_.give_back(node);
  }
}

void ClusterSessions::release_all() {
  for (const auto& [node, member] : members_) release(node);
}

bool ClusterSessions::all_ended() const {
  const auto has_ended = [](const auto& session) { return !session || session->ended(); };
  return std::all_of(retired_.begin(), retired_.end(), has_ended) &&
         std::all_of(members_.begin(), members_.end(),
                     [&](const auto& member) { return has_ended(member.second.session); });
}

const Node* ClusterSessions::returned(NodeId node) const {
  const auto found = returned_.find(node);
  return found == returned_.end() ? nullptr : &found->second;
}

std::vector<SpareStatus> ClusterSessions::spares(const LaunchPlan& plan) const {
  std::vector<SpareStatus> spares;
  if (!has_membership(spec_)) return spares;
  for (const auto& [node, member] : members_) {
    if (plan.find(node)) continue;
    const bool is_connected =
        member.session && member.session->is_greeted() && !member.session->ended();
    const char* const state = !is_connected     ? "not connected"
                              : member.is_ready ? "ready"
                                                : "checking";
    spares.push_back({start_.targets[node.value].host.name, state});
  }
  return spares;
}

bool ClusterSessions::end_by_themselves() const {
  return !local_lost_ && retired_.empty() &&
         std::all_of(start_.targets.begin(), start_.targets.end(),
                     [](const NodeTarget& target) { return target.is_local(); });
}

void ClusterSessions::reap_processes(std::set<pid_t> before) {
  give_back_kept();
  if (spec_.connect.persist) before.merge(shared_masters());
  // Guardians end right after their agents; any descendant left after that has lost both.
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
