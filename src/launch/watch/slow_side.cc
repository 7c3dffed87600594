#include "launch/watch/slow_side.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "os/clock.h"

namespace dlaunch {

std::string slow_text(const SlowRanks::Change& change, const std::string& host,
                      const std::string& oddities) {
  const std::string who = "rank " + std::to_string(change.rank.value) + " on " + host;
  if (!change.is_slow) return who + " is as fast as the others again";
  char times[32];
  std::snprintf(times, sizeof times, "%.1f", change.times);
  const std::string text =
      who + " is slow: its steps take " + times + " times as long as the median of the other ranks";
  return oddities.empty() ? text : text + "; " + host + ": " + oddities;
}

void SlowSide::begin(const LaunchPlan& plan) {
  plan_ = options_.spec.watch.after ? &plan : nullptr;
  pulses_.clear();
  output_.assign(plan.ranks.size(), 0);
  ended_.clear();
  ranks_.begin(monotonic_now());
}

/// An agent's pulse counts only for its own ranks.
void SlowSide::on(NodeId node, const wire::Pulse& pulse) {
  if (plan_ == nullptr || pulse.attempt != plan_->attempt) return;
  pulses_[node] = pulse.node;
  for (const RankPulse& rank : pulse.ranks) {
    // The last pulse of a rank may come after its end.
    if (plan_->runs_on(rank.rank, node) && !ended_.contains(rank.rank)) note(rank);
  }
  for (const SlowRanks::Change& change : ranks_.check(monotonic_now())) tell_change(change);
}

/// A pulse repeats the last value of each metric; it can be new only if the rank has printed.
void SlowSide::note(const RankPulse& rank) {
  using Counter = SlowRanks::Counter;
  const bool has_printed = std::exchange(output_[rank.rank.value], rank.output) != rank.output;
  if (rank.heartbeats > 0) ranks_.count(rank.rank, Counter::heartbeats, rank.heartbeats);
  for (const MetricPulse& one : rank.metrics) {
    if (one.metric == step_time_ && has_printed)
      ranks_.time(rank.rank, std::strtod(one.value.c_str(), nullptr));
    const auto step = count_of(one);
    if (one.metric == step_ && rank.heartbeats == 0 && step)
      ranks_.count(rank.rank, Counter::step, *step);
  }
}

void SlowSide::tell(const Event& event) {
  const auto* exited = std::get_if<event::RankExited>(&event);
  if (exited == nullptr || plan_ == nullptr || exited->attempt != plan_->attempt) return;
  ended_.insert(exited->rank);
  ranks_.ended(exited->rank);
}

void SlowSide::tell_change(const SlowRanks::Change& change) {
  const NodeId node = plan_->node_of(change.rank);
  std::vector<NodePulse> others;
  for (const auto& [other, pulse] : pulses_) {
    if (other != node) others.push_back(pulse);
  }
  screen_.note(
      slow_text(change, nodes_.cluster().name_of(node), oddities_of(pulses_[node], others)));
}

}  // namespace dlaunch
