// What is copied to the nodes before a start: the workdir (`sync`) and staged files (`stage`).
#include <algorithm>
#include <utility>

#include "launch/session/preparation.h"
#include "launch/stage/stage_settings.h"
#include "launch/sync/workdir_settings.h"
#include "os/own_machine.h"

namespace dlaunch {

namespace {

/// How long copied data may wait in the channel: heartbeats queue behind it.
Duration window_delay(const Timeouts& timeouts) {
  constexpr Duration kSoon{500};
  return std::min(kSoon, timeouts.fence_after / 8);
}

}  // namespace

// ---- the workdir

/// A sync is needed once for each agent. If an agent is new, all nodes are brought to the same
/// state again.
bool Preparation::needs_sync() const {
  if (!syncs_workdir(spec_)) return false;
  const auto& nodes = outcome_.plan->nodes;
  return std::any_of(nodes.begin(), nodes.end(), [this](const NodePlan& node) {
    return node.is_remote && !synced_.contains(node.id);
  });
}

void Preparation::begin_sync() {
  WorkdirSyncSettings settings;
  settings.list = workdir_settings(spec_, context_, outcome_.plan->workdir);
  settings.origin = own_hostname();
  settings.window_delay = window_delay(spec_.timeouts);
  settings.removes = spec_.sync.remove == SyncSpec::Delete::owned;
  for (const NodePlan& node : outcome_.plan->nodes) {
    if (node.is_remote) settings.nodes.push_back({node.id, node.name});
  }
  listener_.copying(true);
  sync_.begin(std::move(settings));
}

void Preparation::take_sync(const SyncReport& report) {
  outcome_.plan->sync = report.extent;
  for (const SyncedNode& node : report.nodes) synced_.insert(node.node);
  listener_.synced(report);
  listener_.copying(false);
}

// ---- staged files

/// Staging is needed once for each agent, like needs_sync().
bool Preparation::needs_staging() const {
  const auto& nodes = outcome_.plan->nodes;
  return !staged_items(spec_).empty() &&
         std::any_of(nodes.begin(), nodes.end(),
                     [this](const auto& node) { return !staged_.contains(node.id); });
}

void Preparation::begin_staging() {
  const bool to_all = settings_.up_to == PrepareStep::copies;
  StageRunSettings common;
  common.by = stages_as(context_.run_id);
  common.for_ranks = !context_.run_id.empty();
  common.window_delay = window_delay(spec_.timeouts);
  auto parts = stage_parts(spec_, *outcome_.plan, nodes_.cluster(),
                           to_all ? StageTo::cluster : StageTo::plan, home(), std::move(common));
  if (!parts) return void(staged_all_ = tl::unexpected(parts.error()));
  is_staging_ = true;
  staging_.begin(std::move(*parts));
}

void Preparation::end_staging() {
  staging_.cancel();
  is_staging_ = false;
}

void Preparation::take_staging() {
  for (const NodePlan& node : outcome_.plan->nodes) staged_.insert(node.id);
  listener_.copying(false);
}

/// While staging, at least one.
Error Preparation::lost_while_staging() const {
  constexpr const char* kIndent = "\n         ";
  Error error = lost_nodes();
  error.message +=
      kIndent + (staged_all_ ? "the other nodes have the files" : staged_all_.error().message);
  return error;
}

}  // namespace dlaunch
