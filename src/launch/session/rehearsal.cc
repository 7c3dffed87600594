#include "launch/session/rehearsal.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include <unistd.h>

#include "launch/session/cluster_sessions.h"
#include "os/clock.h"
#include "os/containment.h"
#include "os/event_loop.h"
#include "os/signals.h"
#include "os/unique_fd.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kGoodbye{2};
// Time for an answer to arrive.
constexpr std::chrono::seconds kOnTheWay{10};

class Rehearsing {
 public:
  Rehearsing(const JobSpec& spec, PrepareSettings settings, PrepareListener listener,
             LocalStart local)
      : nodes_(loop_, spec, std::move(local),
               {.on_message =
                    [this](NodeId node, wire::FromAgent message) {
                      std::visit([&](auto& one) { on(node, one); }, message);
                    },
                .on_news =
                    [this](NodeId node, const NodeNews& news) {
                      const auto* const lost = std::get_if<event::NodeLost>(&news);
                      if (lost == nullptr) return;
                      preparation_.node_lost(node, lost->what);
                      if (collecting_) collecting_->node_lost(node, lost->what);
                      lost_.emplace(node, lost->what);
                    }}),
        preparation_(loop_, spec, std::move(settings), nodes_, heard_by(std::move(listener))) {}

  Rehearsal run(const PlanContext& context) {
    nodes_.set_run("");
    preparation_.begin(context);
    while (!outcome_) loop_.run_one();
    Rehearsal rehearsal{std::move(*outcome_), nodes_.cluster(), {}};
    for (const Node& node : rehearsal.cluster.nodes) {
      if (const NodeClock* clock = nodes_.clock(node.id)) rehearsal.clocks.emplace(node.id, *clock);
    }
    return rehearsal;
  }

  /// Call after run().
  CollectReport collect(
      const std::map<NodeId, std::string>& lost,
      const std::function<CollectSettings(const std::vector<CollectNode>&)>& settings,
      std::function<void(std::string)> show) {
    std::vector<CollectNode> nodes;
    for (const Node& node : nodes_.cluster().nodes) {
      const auto why = lost.find(node.id);
      nodes.push_back({node.id, node.name, node.is_launcher, why == lost.end() ? "" : why->second});
    }
    std::optional<CollectReport> collected;
    collecting_.emplace(
        loop_, CollectRun::Callbacks{
                   .send = [this](NodeId node,
                                  const wire::ToAgent& message) { nodes_.send(node, message); },
                   .done = [&](CollectReport report) { collected = std::move(report); },
                   .show = std::move(show)});
    collecting_->begin(settings(nodes));
    while (!collected) loop_.run_one();
    return std::move(*collected);
  }

  /// Call after run().
  std::vector<StagedOnNode> ask_for_staged(const std::map<NodeId, std::string>& lost,
                                           const wire::SeeStaged& question) {
    lost_.insert(lost.begin(), lost.end());
    const auto& nodes = nodes_.cluster().nodes;
    for (const Node& node : nodes) {
      if (!lost_.contains(node.id)) nodes_.send(node.id, question);
    }
    // The node itself enforces the limit.
    const MonotonicTime end =
        monotonic_now() + std::chrono::milliseconds(question.limit_ms) + kOnTheWay;
    const auto has_said = [this](const Node& node) {
      return seen_.contains(node.id) || lost_.contains(node.id);
    };
    while (!std::all_of(nodes.begin(), nodes.end(), has_said) && monotonic_now() < end)
      loop_.run_one(end);
    std::vector<StagedOnNode> all;
    for (const Node& node : nodes) {
      StagedOnNode& one = all.emplace_back();
      one.name = node.name;
      const auto seen = seen_.find(node.id);
      one.is_lost = seen == seen_.end();
      if (one.is_lost) {
        const auto why = lost_.find(node.id);
        one.problem = why != lost_.end() ? why->second : "its agent did not answer";
      } else {
        one.targets = std::move(seen->second.targets);
        one.problem = std::move(seen->second.problem);
      }
    }
    return all;
  }

  void part(const std::set<pid_t>& before) {
    nodes_.release_all();
    const MonotonicTime goodbye = monotonic_now() + kGoodbye;
    while (!nodes_.all_ended() && monotonic_now() < goodbye) loop_.run_one(goodbye);
    nodes_.reap_processes(before);
  }

 private:
  PrepareListener heard_by(PrepareListener listener) {
    listener.done = [this](Prepared outcome) { outcome_ = std::move(outcome); };
    return listener;
  }
  void on(NodeId node, wire::OneOf<wire::Answers> auto& answer) { preparation_.on(node, answer); }
  void on(NodeId, wire::OneOf<wire::RunMessages> auto&) {}
  void on(NodeId node, wire::OneOf<wire::CollectAnswer> auto& answer) {
    if (collecting_) collecting_->on(node, answer);
  }
  void on(NodeId node, wire::StagedSeen& seen) { seen_[node] = std::move(seen); }
  void on(NodeId, wire::OneOf<wire::SessionMessages> auto&) {}
  void on(NodeId, wire::Notice&) {}

  EventLoop loop_;
  ClusterSessions nodes_;
  Preparation preparation_;
  std::optional<Prepared> outcome_;
  std::optional<CollectRun> collecting_;
  std::map<NodeId, std::string> lost_;  // and why
  std::map<NodeId, wire::StagedSeen> seen_;
};

/// Calls `talk` with the sessions, which end afterwards.
template <class Talk>
Status with_nodes(const JobSpec& spec, PrepareSettings settings, PrepareListener listener,
                  const Talk& talk) {
  ensure_standard_descriptors();
  // SIGPIPE: an agent that is gone is an error to report, not our end.
  block_signals({SIGCHLD, SIGPIPE});
  become_subreaper();
  const std::vector<pid_t> before = children_of(::getpid());
  auto local = fork_local_agents(spec);
  if (!local) return tl::unexpected(local.error());
  Rehearsing rehearsing(spec, std::move(settings), std::move(listener), std::move(*local));
  talk(rehearsing);
  rehearsing.part({before.begin(), before.end()});
  return {};
}

}  // namespace

Result<Rehearsal> rehearse(const JobSpec& spec, const PlanContext& context,
                           PrepareSettings settings, PrepareListener listener) {
  Rehearsal rehearsal;
  const Status began =
      with_nodes(spec, std::move(settings), std::move(listener),
                 [&](Rehearsing& rehearsing) { rehearsal = rehearsing.run(context); });
  if (!began) return tl::unexpected(began.error());
  return rehearsal;
}

Result<CollectReport> collect_from_nodes(
    const JobSpec& spec, const PlanContext& context,
    const std::function<CollectSettings(const std::vector<CollectNode>&)>& settings,
    std::function<void(std::string)> show) {
  PrepareSettings prepare;
  prepare.up_to = PrepareStep::facts;
  CollectReport report;
  const Status began = with_nodes(spec, std::move(prepare), {}, [&](Rehearsing& rehearsing) {
    const Rehearsal rehearsal = rehearsing.run(context);
    report = rehearsing.collect(rehearsal.outcome.lost, settings, std::move(show));
  });
  if (!began) return tl::unexpected(began.error());
  return report;
}

Result<std::vector<StagedOnNode>> ask_for_staged(const JobSpec& spec, const PlanContext& context,
                                                 const wire::SeeStaged& question) {
  PrepareSettings prepare;
  prepare.up_to = PrepareStep::facts;
  std::vector<StagedOnNode> staged;
  const Status began = with_nodes(spec, std::move(prepare), {}, [&](Rehearsing& rehearsing) {
    const Rehearsal rehearsal = rehearsing.run(context);
    staged = rehearsing.ask_for_staged(rehearsal.outcome.lost, question);
  });
  if (!began) return tl::unexpected(began.error());
  return staged;
}

}  // namespace dlaunch
