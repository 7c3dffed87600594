#include "launch/watch/checkpoint_stop.h"

#include <utility>

#include "model/signal_names.h"
#include "supervise/wording.h"

namespace dlaunch {

namespace {

/// A file that has not changed for this long is complete.
constexpr std::chrono::seconds kBetweenLooks{1};

}  // namespace

Result<StopReply> CheckpointStop::begin() {
  const Checkpoint& job = options_.spec.checkpoint;
  if (job.path.empty()) {
    return fail(exit_code::kUsage,
                "the job has no checkpoint.path, so dlaunch cannot tell a checkpoint from other "
                "files"
                "\n         try: dlaunch stop, which gives the ranks timeouts.stop to write one");
  }
  const Duration grace = options_.spec.timeouts.stop;
  const StopReply twice{static_cast<std::uint64_t>(2 * grace.count())};
  if (waits_) return twice;
  if (job.signal.empty() || plan_ == nullptr) {
    stop_();
    return StopReply{static_cast<std::uint64_t>(grace.count())};
  }
  waits_ = true;
  before_.reset();
  limit_.after(grace, [this] {
    stop("no new checkpoint within " + wording::duration(options_.spec.timeouts.stop));
  });
  ask();
  return twice;
}

void CheckpointStop::ask() {
  ++round_;
  now_.clear();
  awaited_.clear();
  for (const NodePlan& node : plan_->nodes) {
    if (node.ranks.empty()) continue;
    awaited_.insert(node.id);
    nodes_.send(node.id, wire::SeeCheckpoints{plan_->attempt, round_});
  }
}

void CheckpointStop::on(NodeId node, const wire::CheckpointsSeen& seen) {
  const bool is_ours = waits_ && plan_ != nullptr && plan_->attempt == seen.attempt;
  if (!is_ours || seen.id != round_ || awaited_.erase(node) == 0) return;
  now_[node] = seen.found.written;
  if (awaited_.empty()) judge();
}

void CheckpointStop::judge() {
  if (before_ && is_saved(*before_, previous_, now_)) return stop("a new checkpoint is complete");
  if (!before_) {
    before_ = now_;
    const int number = signal_number(options_.spec.checkpoint.signal).value_or(0);
    for (const auto& [node, items] : now_)
      nodes_.send(node, wire::SignalRanks{plan_->attempt, number});
    screen_.state("waiting up to " + wording::duration(options_.spec.timeouts.stop) +
                  " for the ranks to write a checkpoint (" + signal_name(number) +
                  "); then the run is stopped");
  }
  previous_ = std::move(now_);
  next_.after(kBetweenLooks, [this] { ask(); });
}

void CheckpointStop::stop(const std::string& why) {
  end();
  screen_.state(why + ", stopping");
  stop_();
}

void CheckpointStop::set_plan(const LaunchPlan* plan) {
  plan_ = plan;
  if (waits_ && plan == nullptr) stop("the ranks ended before a new checkpoint was complete");
}

void CheckpointStop::tell(const Event& event) {
  if (std::holds_alternative<event::CancelSignal>(event)) end();
}

void CheckpointStop::end() {
  waits_ = false;
  next_.cancel();
  limit_.cancel();
}

}  // namespace dlaunch
