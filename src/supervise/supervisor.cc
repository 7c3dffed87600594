#include "supervise/supervisor.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "supervise/wording.h"

namespace dlaunch {

using NodeState = AttemptProgress::NodeState;

Supervisor::Supervisor(SupervisorConfig config)
    : config_(config), channels_(config.nodes, Channel::opening), nodes_opening_(config.nodes) {
  attempt_.failures = FailureOrder(config_.clock_error);
  attempt_.sent.stop_signal = config_.stop_signal;
}

std::vector<Action> Supervisor::start(MonotonicTime now) {
  now_ = started_ = now;
  phase_due_ = after(config_.connect_limit);
  for (std::uint32_t i = 0; i < config_.nodes; ++i) ask(action::ConnectNode{NodeIndex{i}});
  if (nodes_opening_ == 0) advance(Step::connected);
  return std::exchange(actions_, {});
}

std::vector<Action> Supervisor::on(const Event& event, MonotonicTime now, WallTime wall) {
  if (done()) return {};
  now_ = now;
  wall_ = wall;
  std::visit([this](const auto& e) { handle(e); }, event);
  enforce_limits();
  return std::exchange(actions_, {});
}

std::optional<MonotonicTime> Supervisor::deadline() const {
  if (done()) return std::nullopt;
  std::optional<MonotonicTime> earliest = phase_due_;
  for (const auto& due : {attempt_.run_due, attempt_.kill_due, attempt_.to_empty.earliest(),
                          attempt_.to_lose.earliest()}) {
    if (due && (!earliest || *due < *earliest)) earliest = due;
  }
  return earliest;
}

// ---- phases

void Supervisor::advance(Step step) {
  const std::optional<Phase> next = next_phase(phase_, step);
  if (!next) return;
  phase_ = *next;
  phase_due_.reset();
  switch (phase_) {
    case Phase::connect:
      break;
    case Phase::plan:
      return enter_plan();
    case Phase::run:
      return enter_run();
    case Phase::stop:
      return enter_stop();
    case Phase::collect:
      return advance(Step::collected);  // all files are on the launcher's machine
    case Phase::done:
      return enter_done();
  }
}

void Supervisor::enter_plan() {
  phase_due_ = after(config_.connect_limit);
  ask(action::MakePlan{attempt_.number});
}

void Supervisor::enter_run() {
  if (config_.run_limit) attempt_.run_due = after(*config_.run_limit);
  for (std::uint32_t i = 0; i < config_.nodes; ++i) {
    const NodeIndex node{i};
    if (attempt_.progress.has_ranks(node)) {
      ask(action::StartRanks{attempt_.number, node});
    } else {
      channels_[i] = Channel::closed;
      ask(action::ReleaseNode{node});
    }
  }
  if (attempt_.progress.open_nodes() == 0) advance(Step::emptied);
}

void Supervisor::enter_stop() {
  attempt_.run_due.reset();
  attempt_.sent.stop_sent = wall_;
  attempt_.kill_due = after(config_.stop_grace);
  for (std::uint32_t i = 0; i < config_.nodes; ++i) {
    const NodeIndex node{i};
    if (attempt_.progress.running_on(node) == 0) continue;
    ask(action::StopRanks{attempt_.number, node, config_.stop_signal});
  }
  if (attempt_.progress.open_nodes() == 0) advance(Step::emptied);
}

void Supervisor::enter_done() {
  for (std::uint32_t i = 0; i < config_.nodes; ++i) {
    if (channels_[i] == Channel::closed) continue;
    channels_[i] = Channel::closed;
    ask(action::ReleaseNode{NodeIndex{i}});
  }
  RunReport report;
  report.attempt = attempt_.number;
  report.elapsed = now_ - started_;
  report.leftovers = attempt_.leftovers;
  report.ranks = attempt_.progress.take_ends();
  if (attempt_.verdict) explain(*attempt_.verdict, attempt_.failures, report);
  ask(action::Finish{std::move(report)});
}

// ---- events

void Supervisor::handle(const event::NodeReady& e) {
  if (e.node.value >= config_.nodes || channels_[e.node.value] != Channel::opening) return;
  channels_[e.node.value] = Channel::ready;
  if (--nodes_opening_ == 0) advance(Step::connected);
}

void Supervisor::handle(const event::NodeLost& e) {
  if (e.node.value >= config_.nodes || channels_[e.node.value] == Channel::closed) return;
  channels_[e.node.value] = Channel::closed;
  lose(e.node, e.what);
}

void Supervisor::handle(const event::PlanMade& e) {
  if (phase_ != Phase::plan || e.attempt != attempt_.number) return;
  for (const NodeIndex node : e.node_of_rank) {
    if (node.value < config_.nodes) continue;
    return halt(verdict_internal("the plan uses node " + std::to_string(node.value) + " of " +
                                 std::to_string(config_.nodes)));
  }
  attempt_.progress = AttemptProgress(e.node_of_rank, config_.nodes);
  attempt_.killed.assign(config_.nodes, false);
  advance(Step::planned);
}

void Supervisor::handle(const event::PlanFailed& e) {
  if (phase_ == Phase::plan) halt(verdict_plan_failed(e.error));
}

void Supervisor::handle(const event::RankStarted& e) {
  if (has_ranks_now(e.attempt)) attempt_.progress.note_start(e.rank, e.at);
}

void Supervisor::handle(const event::RankNotStarted& e) {
  if (!has_ranks_now(e.attempt)) return;
  RankEnd end;
  end.how = RankEnd::How::cannot_start;
  end.start_failure = e.failure;
  end.ended = e.at;
  end_rank(e.rank, std::move(end), true);
}

void Supervisor::handle(const event::RankExited& e) {
  if (!has_ranks_now(e.attempt)) return;
  const EndReading reading = read_end(e.status, e.at, attempt_.sent, config_.clock_error);
  RankEnd end;
  end.how = reading.how;
  end.status = e.status;
  end.ended = e.at;
  end_rank(e.rank, std::move(end), reading.certain);
}

void Supervisor::handle(const event::NodeEmpty& e) {
  if (!has_ranks_now(e.attempt) || !attempt_.progress.is_open(e.node)) return;
  attempt_.leftovers += e.leftovers;
  const std::uint32_t unaccounted = attempt_.progress.running_on(e.node);
  if (unaccounted > 0 && !attempt_.verdict) {
    // A rank that ended unseen may have failed: never call that success.
    attempt_.progress.close(e.node, NodeState::empty);
    halt(verdict_internal("node " + std::to_string(e.node.value) + " reports no end of " +
                          wording::ranks(unaccounted)));
    return;
  }
  close_node(e.node, NodeState::empty);
}

void Supervisor::handle(const event::CancelSignal& e) {
  cancel(e.number);
}

void Supervisor::handle(const event::FrontGone&) {
  cancel(0);
}

// ---- decisions

void Supervisor::halt(Verdict verdict) {
  if (attempt_.verdict) return;
  attempt_.verdict = std::move(verdict);
  advance(Step::halted);
}

void Supervisor::cancel(int signal) {
  if (phase_ == Phase::connect || phase_ == Phase::plan) return halt(verdict_cancelled(signal));
  const std::uint32_t running = attempt_.progress.running();
  if (!attempt_.verdict && running > 0) {
    halt(verdict_cancelled(signal));
    ask(action::Tell{
        wording::stopping_on_cancel(signal, {running, config_.stop_signal, config_.stop_grace})});
    return;
  }
  const std::size_t before = actions_.size();
  kill_all();
  if (actions_.size() > before && running > 0) ask(action::Tell{wording::killing(running)});
}

/// The node's ranks, if any, have gone with it.
void Supervisor::lose(NodeIndex node, std::string what) {
  if (phase_ == Phase::connect || phase_ == Phase::plan) {
    return halt(verdict_node_lost(node, std::move(what)));
  }
  if (!attempt_.progress.is_open(node)) return;
  if (attempt_.verdict) return close_node(node, NodeState::lost);
  attempt_.progress.close(node, NodeState::lost);
  halt(verdict_node_lost(node, std::move(what)));
}

void Supervisor::close_node(NodeIndex node, NodeState how) {
  attempt_.progress.close(node, how);
  if (attempt_.progress.open_nodes() == 0) advance(Step::emptied);
}

void Supervisor::end_rank(Rank rank, RankEnd end, bool certain) {
  if (!attempt_.progress.is_running(rank)) return;
  const NodeIndex node = attempt_.progress.node_of(rank);
  const bool own = end.how == RankEnd::How::exited || end.how == RankEnd::How::cannot_start;
  const bool failed = own && (end.start_failure || !end.status.ok());
  if (failed) attempt_.failures.add({rank, node, *end.ended, certain});
  attempt_.progress.note_end(rank, std::move(end));
  if (attempt_.progress.running() == 0) attempt_.run_due.reset();
  if (attempt_.progress.running_on(node) == 0) {
    attempt_.to_empty.add({after(config_.end_limit), node});
  }
  if (failed) halt(verdict_rank_failed());
}

void Supervisor::kill_node(NodeIndex node) {
  if (!attempt_.progress.is_open(node) || attempt_.killed[node.value]) return;
  attempt_.killed[node.value] = true;
  attempt_.to_lose.add({after(config_.end_limit), node});
  ask(action::KillRanks{attempt_.number, node});
}

void Supervisor::kill_all() {
  attempt_.kill_due.reset();
  if (!attempt_.sent.kill_sent) attempt_.sent.kill_sent = wall_;
  for (std::uint32_t i = 0; i < config_.nodes; ++i) kill_node(NodeIndex{i});
}

// ---- limits

void Supervisor::enforce_limits() {
  if (phase_due_ && *phase_due_ <= now_) enforce_connect_limit();
  if (attempt_.run_due && *attempt_.run_due <= now_) say_stopping_at_limit();
  while (const auto node = attempt_.to_empty.take_due(now_)) kill_node(*node);
  while (const auto node = attempt_.to_lose.take_due(now_)) {
    lose(*node, wording::not_empty(config_.end_limit));
  }
  // Last, because each of the others may have begun a grace time of 0.
  if (attempt_.kill_due && *attempt_.kill_due <= now_) kill_all();
  attempt_.to_empty.forget_closed(attempt_.progress);
  attempt_.to_lose.forget_closed(attempt_.progress);
}

void Supervisor::enforce_connect_limit() {
  if (phase_ == Phase::plan) {
    return halt(verdict_plan_failed(
        {exit_code::kInternal, "no plan within " + wording::duration(config_.connect_limit)}));
  }
  const auto silent = std::find(channels_.begin(), channels_.end(), Channel::opening);
  assert(silent != channels_.end());
  lose(NodeIndex{static_cast<std::uint32_t>(silent - channels_.begin())},
       wording::no_answer(config_.connect_limit, nodes_opening_ - 1));
}

void Supervisor::say_stopping_at_limit() {
  const std::uint32_t running = attempt_.progress.running();
  halt(verdict_time_limit());
  ask(action::Tell{wording::stopping_at_limit(*config_.run_limit,
                                              {running, config_.stop_signal, config_.stop_grace})});
}

bool Supervisor::has_ranks_now(Attempt attempt) const {
  return (phase_ == Phase::run || phase_ == Phase::stop) && attempt == attempt_.number;
}

/// A limit beyond what the clock can count is no limit.
MonotonicTime Supervisor::after(Duration limit) const {
  const MonotonicTime farthest = MonotonicTime::max();
  if (limit >= std::chrono::duration_cast<Duration>(farthest - now_)) return farthest;
  return now_ + limit;
}

}  // namespace dlaunch
