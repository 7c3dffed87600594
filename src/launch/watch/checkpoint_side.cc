#include "launch/watch/checkpoint_side.h"

#include <utility>

namespace dlaunch {

void CheckpointSide::begin(const LaunchPlan& plan) {
  if (options_.spec.checkpoint.path.empty()) return;
  running_ = plan.attempt;
  tally_ = {};
  awaited_.clear();
  for (const NodePlan& node : plan.nodes) {
    if (!node.ranks.empty()) awaited_.insert(node.id);
  }
}

void CheckpointSide::on(NodeId node, const wire::CheckpointsSeen& seen) {
  if (seen.id != 0 || running_ != seen.attempt || awaited_.erase(node) == 0) return;
  tally_.add(nodes_.cluster().name_of(node), seen.found);
}

void CheckpointSide::end(bool restarts) {
  if (!running_) return;
  for (const NodeId node : std::exchange(awaited_, {}))
    tally_.lacks(nodes_.cluster().name_of(node) + " was lost before it could report");
  const CheckpointAccount& account = accounts_[*running_] = tally_.account();
  const std::string text = checkpoint_text(account, options_.spec.checkpoint.path);
  store_.note("checkpoint", text, [&](JsonText& json) {
    json.key("attempt").number(running_->value);
    write_checkpoint(json, account);
  });
  running_.reset();
  if (restarts) screen_.state(account.latest ? text : "warning: " + text);
}

}  // namespace dlaunch
