#include "launch/session/discover.h"

#include <csignal>
#include <map>
#include <set>

#include <unistd.h>

#include "launch/session/cluster_sessions.h"
#include "launch/session/reach_check.h"
#include "os/clock.h"
#include "os/containment.h"
#include "os/signals.h"
#include "os/unique_fd.h"
#include "supervise/wording.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kGoodbye{2};

/// What every node has answered.
class Discovery {
 public:
  void ready(NodeId node) { ready_.insert(node.value); }
  void see(const NodeNews& news) {
    if (const auto* lost = std::get_if<event::NodeLost>(&news))
      lost_[lost->node.value] = lost->what;
  }
  [[nodiscard]] std::size_t answers() const {
    std::set<std::uint32_t> all = ready_;
    for (const auto& [node, what] : lost_) all.insert(node);
    return all.size();
  }
  [[nodiscard]] bool none_lost() const { return lost_.empty(); }
  /// One line for each node that cannot be used.
  [[nodiscard]] Status status(const Cluster& cluster, Duration limit) const {
    std::string text;
    for (std::uint32_t i = 0; i < cluster.nodes.size(); ++i) {
      const auto lost = lost_.find(i);
      if (lost == lost_.end() && ready_.contains(i)) continue;
      text += (text.empty() ? "" : "\n         ") + cluster.nodes[i].name + ": " +
              (lost != lost_.end() ? lost->second : wording::no_answer(limit));
    }
    return text.empty() ? Status() : fail(exit_code::kNodeLost, text);
  }

 private:
  std::set<std::uint32_t> ready_;
  std::map<std::uint32_t, std::string> lost_;
};

/// Takes the answers of the nodes; requests facts, and who reaches whom.
struct Answers {
  Discovery& found;
  ReachCheck* check = nullptr;

  void on(NodeId node, const wire::Facts&) { found.ready(node); }
  void on(NodeId node, const wire::OneOf<wire::ReachAnswer> auto& answer) {
    if (check != nullptr) check->on(node, answer);
  }
  void on(NodeId, const wire::OneOf<wire::SyncAnswer> auto&) {}
  void on(NodeId, const wire::PlacesMissing&) {}
  void on(NodeId, const wire::PmixReady&) {}
  void on(NodeId, const wire::Inspected&) {}
  void on(NodeId, const wire::OneOf<wire::RunMessages> auto&) {}
  void on(NodeId, const wire::OneOf<wire::SessionMessages> auto&) {}
  void on(NodeId, const wire::Notice&) {}
};

/// Waits for the check, which has its own limit, unless a node is lost.
Status meet(const JobSpec& spec, const PlanContext& context, EventLoop& loop,
            ClusterSessions& sessions, const Discovery& found, ReachCheck& reach,
            std::optional<Result<Meeting>>& met) {
  const auto nodes = nodes_to_meet(spec, sessions.cluster(), context);
  if (!nodes || *nodes == 0) return {};  // making the plan finds the same error
  reach.begin(spec, sessions.cluster(), *nodes);
  while (!met && found.none_lost()) loop.run_one();
  if (!met) return found.status(sessions.cluster(), spec.timeouts.connect);
  if (!*met) return tl::unexpected(met->error());
  sessions.set_meeting(**met);
  return {};
}

}  // namespace

Result<Cluster> discover_cluster(const JobSpec& spec, const PlanContext& context) {
  ensure_standard_descriptors();
  // SIGPIPE: an agent that is gone is an error to report, and must not end us.
  block_signals({SIGCHLD, SIGPIPE});
  become_subreaper();
  const std::vector<pid_t> before = children_of(::getpid());
  auto local = fork_local_agents(spec);
  if (!local) return tl::unexpected(local.error());
  EventLoop loop;
  Discovery found;
  Answers answers{found};
  ClusterSessions sessions(loop, spec, std::move(*local),
                           {.on_message =
                                [&](NodeId node, const wire::FromAgent& message) {
                                  std::visit([&](const auto& one) { answers.on(node, one); },
                                             message);
                                },
                            .on_news = [&](NodeId, const NodeNews& news) { found.see(news); }});
  std::optional<Result<Meeting>> met;
  ReachCheck reach(
      loop,
      {.send = [&](NodeId node, const wire::ToAgent& message) { sessions.send(node, message); },
       .done = [&](Result<Meeting> meeting) { met = std::move(meeting); }});
  answers.check = &reach;
  for (std::size_t node = 0; node < sessions.size(); ++node)
    sessions.connect(NodeId(static_cast<std::uint32_t>(node)));
  const MonotonicTime end = monotonic_now() + spec.timeouts.connect;
  while (found.answers() < sessions.size() && monotonic_now() < end) loop.run_one(end);
  Status status = found.status(sessions.cluster(), spec.timeouts.connect);
  if (status) status = meet(spec, context, loop, sessions, found, reach, met);
  sessions.release_all();
  const MonotonicTime goodbye = monotonic_now() + kGoodbye;
  while (!sessions.all_ended() && monotonic_now() < goodbye) loop.run_one(goodbye);
  sessions.reap_processes({before.begin(), before.end()});
  if (!status) return tl::unexpected(status.error());
  return sessions.cluster();
}

}  // namespace dlaunch
