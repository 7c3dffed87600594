#include "launch/watch/stall_side.h"

#include <chrono>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "launch/output/output_settings.h"
#include "os/clock.h"
#include "report/stacks_text.h"
#include "supervise/wording.h"

namespace dlaunch {

std::optional<std::uint32_t> metric_index(const JobSpec& spec, const std::string& name) {
  const auto found = spec.metrics.find(name);
  if (found == spec.metrics.end()) return std::nullopt;
  return static_cast<std::uint32_t>(std::distance(spec.metrics.begin(), found));
}

std::optional<std::uint64_t> count_of(const MetricPulse& metric) {
  const double value = std::strtod(metric.value.c_str(), nullptr);
  if (!(value >= 0 && value < 1e15)) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

StallSide::StallSide(EventLoop& loop, const RunOptions& options, StackRounds& rounds,
                     RunStore& store, Screen& screen, Push push, std::chrono::milliseconds between)
    : options_(options),
      rounds_(rounds),
      store_(store),
      screen_(screen),
      push_(std::move(push)),
      limits_{options.spec.watch.after, options.spec.timeouts.hang,
              metric_index(options.spec, "step"), options.spec.watch.interval},
      between_looks_(between),
      watch_(limits_),
      tick_(loop),
      between_(loop) {}

void StallSide::begin(const LaunchPlan& plan) {
  end();
  if (!is_watched(options_.spec)) return;
  plan_ = &plan;
  std::vector<NodeId> node_of_rank;
  for (const RankPlan& rank : plan.ranks) node_of_rank.push_back(plan.node_of(rank.rank));
  watch_.begin(node_of_rank, monotonic_now());
  has_progress_ = false;
  is_stalled_ = false;
  step_.reset();
  tick();
}

void StallSide::end() {
  plan_ = nullptr;
  watch_.end();
  tick_.cancel();
  between_.cancel();
  rounds_.cancel(round_);
}

void StallSide::on(NodeId node, const wire::Pulse& pulse) {
  if (plan_ == nullptr || pulse.attempt != plan_->attempt) return;
  watch_.pulse(node, pulse.ranks, monotonic_now());
  tell_progress(node, pulse);
  check();
}

void StallSide::tell_progress(NodeId node, const wire::Pulse& pulse) {
  bool is_news = is_stalled_ && watch_.state() == StallWatch::State::moving;
  if (is_news) is_stalled_ = false;
  for (const RankPulse& rank : pulse.ranks) {
    if (!plan_->runs_on(rank.rank, node)) continue;
    if (rank.output > 0 || rank.heartbeats > 0)
      is_news = !std::exchange(has_progress_, true) || is_news;
    for (const MetricPulse& one : rank.metrics) {
      const std::optional<std::uint64_t> step = count_of(one);
      if (one.metric != limits_.step_metric || !step || (step_ && *step <= *step_)) continue;
      step_ = step;
      is_news = true;
    }
  }
  if (is_news) push_(event::Progress{plan_->attempt, step_});
}

void StallSide::unheard(NodeId node, Duration silence) {
  if (plan_ != nullptr) watch_.unheard(node, silence, monotonic_now());
}

void StallSide::tell(const Event& event) {
  if (plan_ == nullptr) return;
  if (const auto* started = std::get_if<event::RankStarted>(&event)) {
    if (started->attempt == plan_->attempt) watch_.started(started->rank, monotonic_now());
  } else if (const auto* exited = std::get_if<event::RankExited>(&event)) {
    if (exited->attempt == plan_->attempt) watch_.ended(exited->rank, monotonic_now());
  }
}

void StallSide::tick() {
  tick_.after(limits_.interval, [this] { tick(); });
  check();
}

void StallSide::check() {
  switch (watch_.check(monotonic_now())) {
    case StallWatch::Step::none:
      return;
    case StallWatch::Step::look:
      return look();
    case StallWatch::Step::resumed:
      return tell_resumed();
    case StallWatch::Step::give_up:
      push_(event::Hang{plan_->attempt, *limits_.hang, wording::no_progress(*limits_.hang)});
      return;
  }
}

/// The answer comes within a limit, whatever the nodes do.
void StallSide::look() {
  const std::string path = find_variable(options_.environment, "PATH").value_or("");
  round_ = rounds_.ask({{}, path, false}, [this](StacksReply first) {
    first_ = std::move(first);
    first_at_ = wall_now();
    between_.after(between_looks_, [this] { look_again(); });
  });
}

void StallSide::look_again() {
  const std::string path = find_variable(options_.environment, "PATH").value_or("");
  round_ = rounds_.ask({{}, path, false}, [this](const StacksReply& second) { judge_both(second); });
}

void StallSide::judge_both(const StacksReply& second) {
  const auto silence = std::chrono::floor<Duration>(watch_.silence());
  std::vector<NodeOfRanks> nodes;
  for (const NodePlan& node : plan_->nodes) nodes.push_back({node.name, node.address, node.ranks});
  StallSeen seen{plan_->attempt, wall_now(), silence, judge(first_, second, silence, nodes)};
  const bool is_hang = seen.verdict.kind == Verdict::Kind::hang;
  if (watch_.looked(is_hang, monotonic_now())) {
    is_stalled_ = seen.verdict.kind != Verdict::Kind::working;
    if (is_stalled_) push_(event::Stall{plan_->attempt, silence});
    tell_verdict(std::move(seen), second);
  }
  first_ = {};
  check();
}

void StallSide::tell_verdict(StallSeen seen, const StacksReply& second) {
  const StallSeen* const before = lasting_stall(seen_, plan_->attempt);
  const bool is_again = before != nullptr && before->verdict.kind == seen.verdict.kind;
  // Call this first: writing files may wait for their file system.
  if (!options_.quiet)
    screen_.say(stall_text(seen, screen_columns(options_.environment), is_again));
  store_.note("stall", seen.verdict.headline,
              [&](JsonText& json) { write_members(json, seen); });
  keep(first_, first_at_);
  keep(second, seen.at);
  seen_.push_back(std::move(seen));
}

void StallSide::keep(const StacksReply& reply, WallTime at) {
  if (const Status kept = store_.folder().write_stacks(at, stacks_json(reply)); !kept)
    store_.note("notice", "the stacks could not be saved: " + kept.error().message);
}

/// Ranks that were working all the time are not news.
void StallSide::tell_resumed() {
  const StallSeen* const last = lasting_stall(seen_, plan_->attempt);
  if (last == nullptr) return;
  if (last->verdict.kind != Verdict::Kind::working)
    screen_.note("the job is making progress again");
  for (StallSeen& one : seen_) one.has_resumed = one.has_resumed || one.attempt == plan_->attempt;
}

}  // namespace dlaunch
