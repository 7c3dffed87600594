#include "launch/engine/attempt_planner.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include <sys/random.h>
#include <sys/stat.h>

#include "launch/console/debug_log.h"
#include "launch/session/place_question.h"
#include "launch/sync/workdir_settings.h"
#include "os/own_machine.h"
#include "supervise/wording.h"
#include "text/size_text.h"

namespace dlaunch {

namespace {

// Limit for counting the files of the workdir, for advice.
constexpr Duration kCounting = std::chrono::seconds(2);

/// Before the supervisor's own limit, so that the message names the nodes.
Duration limit_within(Duration timeout) {
  return timeout - std::min<Duration>(timeout / 20, std::chrono::milliseconds(500));
}

/// For something that a node lacks: it is in the workdir here.
bool is_left_out_here(const std::string& workdir, const std::string& path) {
  const std::string whole = path.starts_with('/') ? path : workdir + '/' + path;
  struct stat info {};
  return whole.starts_with(workdir + '/') && ::lstat(whole.c_str(), &info) == 0;
}

/// Whether this answers the last question. An attempt may be planned twice if a node is lost
/// meanwhile; agents answer every question, in order.
bool is_last(std::map<NodeId, std::uint32_t>& asked, NodeId node) {
  const auto found = asked.find(node);
  if (found == asked.end() || --found->second > 0) return false;
  asked.erase(found);
  return true;
}

/// 128 random bits as text; empty: unavailable, see errno.
std::string secret_text() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace

AttemptPlanner::AttemptPlanner(EventLoop& loop, const JobSpec& spec, Prepare prepare, Nodes& nodes,
                               Done done, Watchers watchers)
    : spec_(spec),
      prepare_(std::move(prepare)),
      nodes_(nodes),
      done_(std::move(done)),
      limit_(loop),
      reach_(loop, {.send = [this](NodeId node,
                                   const wire::ToAgent& message) { nodes_.send(node, message); },
                    .done = [this](Result<Meeting> meeting) { met(std::move(meeting)); }}),
      sync_(loop, {.send = [this](NodeId node,
                                  const wire::ToAgent& message) { nodes_.send(node, message); },
                   .done = [this](Result<SyncReport> report) { synced(std::move(report)); },
                   .show = [this](std::string text) { watchers_.show(std::move(text)); }}),
      watchers_(std::move(watchers)) {}

void AttemptPlanner::begin(PlanContext context) {
  context_ = std::move(context);
  unchecked_.reset();
  unsynced_.reset();
  nodes_.set_meeting(std::nullopt);
  if (prepare_) {
    if (const Status ready = prepare_(spec_, nodes_.cluster()); !ready)
      return done_(tl::unexpected(ready.error()));
  }
  limit_.after(limit_within(spec_.timeouts.connect), [this] { too_late(); });
  const auto nodes = nodes_to_meet(spec_, nodes_.cluster(), context_);
  if (!nodes || *nodes == 0) return make();  // which finds the same error
  reach_.begin(spec_, nodes_.cluster(), *nodes);
}

void AttemptPlanner::met(Result<Meeting> meeting) {
  if (!meeting) return done_(tl::unexpected(meeting.error()));
  debug_log::info("the nodes meet at " + meeting->address + " (" + meeting->reason + ")");
  nodes_.set_meeting(std::move(*meeting));
  make();
}

void AttemptPlanner::make() {
  auto plan = make_plan(spec_, nodes_.cluster(), context_);
  if (!plan) return done_(std::move(plan));
  if (needs_sync(*plan)) return sync_workdir(std::move(*plan));
  check(std::move(*plan));
}

/// Once for each agent. If one is new, all nodes are synchronised again.
bool AttemptPlanner::needs_sync(const LaunchPlan& plan) const {
  if (!spec_.sync) return false;
  return std::any_of(plan.nodes.begin(), plan.nodes.end(), [this](const NodePlan& node) {
    return node.is_remote && !synced_.contains(node.id);
  });
}

void AttemptPlanner::sync_workdir(LaunchPlan plan) {
  constexpr Duration kSoon{500};
  WorkdirSyncSettings settings;
  settings.list = workdir_settings(spec_, context_, plan.workdir);
  settings.origin = own_hostname();
  // Queued data delays heartbeats.
  settings.window_delay = std::min(kSoon, spec_.timeouts.fence_after / 8);
  for (const NodePlan& node : plan.nodes) {
    if (node.is_remote) settings.nodes.push_back({node.id, node.name});
  }
  unsynced_ = std::move(plan);
  limit_.cancel();  // a sync has limits of its own
  watchers_.copying(true);
  sync_.begin(std::move(settings));
}

void AttemptPlanner::synced(Result<SyncReport> report) {
  if (!unsynced_) return;
  LaunchPlan plan = std::move(*unsynced_);
  unsynced_.reset();
  if (!report) return done_(tl::unexpected(std::move(report.error())));
  plan.sync = report->extent;
  for (const SyncedNode& node : report->nodes) synced_.insert(node.node);
  watchers_.synced(*report);
  watchers_.copying(false);
  limit_.after(limit_within(spec_.timeouts.connect), [this] { too_late(); });
  check(std::move(plan));
}

void AttemptPlanner::node_lost(NodeId node) {
  reach_.cancel();
  limit_.cancel();
  if (unsynced_ && unsynced_->find(node)) sync_.cancel();
  synced_.erase(node);
  places_asked_.erase(node);
  pmix_asked_.erase(node);
}

void AttemptPlanner::cancel() {
  reach_.cancel();
  limit_.cancel();
  sync_.cancel();
}

void AttemptPlanner::check(LaunchPlan plan) {
  missing_ = MissingPlaces();
  pmix_ = PmixStart();
  ask_for_places(plan);
  if (needs_wire_up(plan)) {
    const std::string secret = secret_text();
    if (secret.empty()) return done_(fail_errno(exit_code::kInternal, "getrandom", errno));
    pmix_ = PmixStart(plan);
    wire::PreparePmix message = prepare_message(plan, spec_.mpi.pmi, secret);
    for (const NodePlan& node : plan.nodes) {
      ++pmix_asked_[node.id];
      nodes_.send(node.id, message);
      ++message.own;
    }
  }
  unchecked_ = std::move(plan);
  answered();
}

void AttemptPlanner::ask_for_places(const LaunchPlan& plan) {
  const LauncherFiles files = launcher_files(plan.workdir);
  std::vector<PlaceQuestion> questions;
  for (std::uint32_t node = 0; node < plan.nodes.size(); ++node)
    questions.push_back(place_question(spec_, plan, NodeRank(node), files));
  if (!has_remote_nodes(plan) && std::none_of(questions.begin(), questions.end(), is_worth_asking))
    return;
  missing_ = MissingPlaces(plan, nodes_.cluster(), spec_.sync, std::move(questions));
  for (const NodePlan& node : plan.nodes) {
    ++places_asked_[node.id];
    nodes_.send(node.id, missing_.question(node.id));
  }
}

/// Adds what the launcher's own files say about a missing path.
std::string AttemptPlanner::advice(const LaunchPlan& plan) const {
  constexpr const char* kIndent = "\n         ";
  const auto is_left_out = [&](const std::string& path) {
    return is_left_out_here(plan.workdir, path);
  };
  if (plan.sync && missing_.any_of(is_left_out))
    return std::string(kIndent) + "sync: true copies nothing that a .gitignore file names";
  struct stat here {};
  if (spec_.sync || !missing_.lacks_workdir() || ::stat(plan.workdir.c_str(), &here) != 0)
    return {};
  constexpr const char* kShared = "a folder that all nodes share";
  const auto extent = extent_within(kCounting, workdir_settings(spec_, context_, plan.workdir));
  if (!extent) {
    const std::string& why = extent.error().message;
    return std::string(kIndent) + "try: " + kShared +
           "; --set sync=true cannot copy it there: " + why.substr(0, why.find('\n'));
  }
  return std::string(kIndent) + "try: --set sync=true, which copies it there first" +
         (*extent ? " (" + files_text((*extent)->files, (*extent)->bytes) + ')' : "") + ", or " +
         kShared;
}

void AttemptPlanner::on(NodeId node, const wire::PlacesMissing& answer) {
  if (!is_last(places_asked_, node)) return;
  missing_.add(node, answer);
  answered();
}

void AttemptPlanner::on(NodeId node, const wire::PmixReady& answer) {
  if (!is_last(pmix_asked_, node)) return;
  pmix_.add(node, answer);
  answered();
}

void AttemptPlanner::answered() {
  if (!unchecked_ || !missing_.complete() || !pmix_.complete()) return;
  LaunchPlan plan = std::move(*unchecked_);
  unchecked_.reset();
  limit_.cancel();
  if (auto error = missing_.error()) {
    error->message += advice(plan);
    return done_(tl::unexpected(std::move(*error)));
  }
  for (NodePlan& node : plan.nodes) node.python = missing_.python_of(node.id);
  for (std::string& text : missing_.notes()) plan.notes.push_back(std::move(text));
  if (spec_.mpi.pmi == Mpi::Pmi::automatic) {
    for (std::string& text : pmix_.notes()) plan.notes.push_back(std::move(text));
  } else if (auto error = pmix_.error()) {
    return done_(tl::unexpected(std::move(*error)));
  }
  done_(std::move(plan));
}

/// The reach check ends earlier by itself.
void AttemptPlanner::too_late() {
  if (!unchecked_) return;
  unchecked_.reset();
  if (missing_.complete()) {
    return done_(fail(exit_code::kPreflight,
                      pmix_.awaited() + ": dlaunch-pmix was not ready within " +
                          wording::duration(spec_.timeouts.connect) +
                          ": the machine there is busy or short of memory, or the network is "
                          "slow\n         try: --set timeouts.connect=2m"));
  }
  done_(fail(exit_code::kNodeLost,
             missing_.awaited() + ": no answer within " +
                 wording::duration(spec_.timeouts.connect) +
                 " to whether what the ranks need is there: the network or a file system there "
                 "is slow\n         try: --set timeouts.connect=2m"));
}

}  // namespace dlaunch
