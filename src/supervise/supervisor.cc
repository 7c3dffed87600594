#include "supervise/supervisor.h"

#include <algorithm>
#include <utility>

#include "supervise/wording.h"
#include "text/strings.h"

namespace dlaunch {

using NodeState = AttemptProgress::NodeState;

namespace {

constexpr Duration kLongestAbsentPause = std::chrono::minutes(5);

}  // namespace

Supervisor::Supervisor(const SupervisorConfig& config, std::span<const Transition> table)
    : config_(config),
      table_(table),
      names_(config.nodes),
      restarts_(config.restart, config.port_retries),
      returns_(config.return_limit, config.connect_limit),
      absent_(Duration::max(), config.connect_limit, kLongestAbsentPause) {
  for (const auto& [node, name] : names_) nodes_[node] = Channel::none;
}

std::vector<Action> Supervisor::start(MonotonicTime now) {
  now_ = started_ = now;
  ledger_.begin(now);
  enter_connect();
  return std::exchange(actions_, {});
}

std::vector<Action> Supervisor::on(const Event& event, MonotonicTime now) {
  if (done()) return {};
  now_ = now;
  std::visit([this](const auto& e) { handle(e); }, event);
  if (!done()) enforce_limits();
  if (!done() && is_stuck())
    break_off(std::string("nothing can end the phase \"") + name_of(phase_) + '"');
  return std::exchange(actions_, {});
}

std::optional<MonotonicTime> Supervisor::deadline() const {
  if (done()) return std::nullopt;
  const auto own = own_deadline();
  const auto absent = tries_absent_nodes() ? absent_.earliest() : std::nullopt;
  return own && absent ? std::min(*own, *absent) : own ? own : absent;
}

/// The deadline, leaving out tries of nodes that nothing waits for.
std::optional<MonotonicTime> Supervisor::own_deadline() const {
  std::optional<MonotonicTime> earliest = phase_due_;
  for (const auto& due :
       {run_due(), attempt_.starter ? attempt_.starter->begun_due() : std::nullopt,
        attempt_.stragglers_due, attempt_.kill_due, attempt_.to_empty.earliest(),
        attempt_.to_lose.earliest(), returns_.earliest()}) {
    if (due && (!earliest || *due < *earliest)) earliest = due;
  }
  return earliest;
}

// ---- phases

void Supervisor::advance(Step step) {
  const std::optional<Phase> next = next_phase(phase_, step, table_);
  if (!next) {
    return break_off(std::string("the phase \"") + name_of(phase_) + "\" has no step \"" +
                     name_of(step) + '"');
  }
  phase_ = *next;
  phase_due_.reset();
  switch (phase_) {
    case Phase::connect:
      return enter_connect();
    case Phase::plan:
      return enter_plan();
    case Phase::run:
      return enter_run();
    case Phase::stop:
      return enter_stop();
    case Phase::wait:
      return enter_wait();
    case Phase::collect:
      return advance(Step::collected);  // all files are on the launcher's machine
    case Phase::done:
      return enter_done();
  }
}

/// For an internal error that a second cancel would not repair: the run ends now, in any state.
void Supervisor::break_off(const std::string& what) {
  if (finished_) return;
  kill_all();
  attempt_.outcome = ended::by_internal_error(what);
  phase_ = Phase::done;
  phase_due_.reset();
  enter_done();
}

/// Whether neither a limit nor an event of a node can end this phase. In Phase::plan, the planner's
/// answer can.
bool Supervisor::is_stuck() const {
  switch (phase_) {
    case Phase::connect:
    case Phase::stop:
    case Phase::wait:
      return !own_deadline();
    case Phase::run:
      return attempt_.progress.open_nodes() == 0;
    case Phase::plan:
    case Phase::collect:
    case Phase::done:
      break;
  }
  return false;
}

void Supervisor::enter_connect() {
  if (!earlier_.empty() || asked_all_) return connect_again();
  asked_all_ = true;
  for (const auto& [node, channel] : nodes_) connect(node);
  if (nodes_opening_ == 0) all_opened();
}

void Supervisor::connect(NodeId node) {
  phase_due_ = after(config_.connect_limit);
  nodes_.at(node) = Channel::opening;
  ++nodes_opening_;
  ask(action::ConnectNode{node, attempt_.number, std::nullopt});
}

void Supervisor::enter_plan() {
  ledger_.turn(first_or_restart(Spent::prepare), now_);
  phase_due_ = after(config_.connect_limit);
  ask(action::MakePlan{attempt_.number});
}

void Supervisor::enter_run() {
  attempt_.began = now_;
  ledger_.begin_attempt(first_or_restart(Spent::start), now_);
  returns_.forget_all();
  if (config_.run_limit && !run_due_) run_due_ = after(*config_.run_limit);
  for (auto& [node, channel] : nodes_) {
    if (attempt_.progress.has_ranks(node)) {
      ask(action::StartRanks{attempt_.number, node});
    } else if ((channel == Channel::ready || channel == Channel::returned) &&
               !restarts_.may_restart()) {
      channel = Channel::released;  // else a later plan may use it
      ask(action::ReleaseNode{node});
    }
  }
  if (attempt_.progress.open_nodes() == 0) attempt_over();
}

void Supervisor::enter_stop() {
  ledger_.turn(Spent::stopping, now_);
  attempt_.stragglers_due.reset();
  if (attempt_.starter) attempt_.starter->clear_begun_due();
  attempt_.kill_due = end_of_grace();
  for (const NodeId node : attempt_.progress.nodes()) {
    if (attempt_.progress.running_on(node) == 0) continue;
    ask(action::StopRanks{attempt_.number, node, config_.stop_signal});
  }
  attend_to_starter();
  if (attempt_.progress.open_nodes() == 0) attempt_over();
}

void Supervisor::enter_wait() {
  ledger_.turn(Spent::back_off, now_);
  phase_due_ = after(std::chrono::duration_cast<Duration>(earlier_.back().wait));
  attempt_.kill_due.reset();
  attempt_.outcome.reset();  // it is in earlier_; the wait gets its own outcome
}

void Supervisor::enter_done() {
  for (auto& [node, channel] : nodes_) {
    if (channel == Channel::none || channel == Channel::lost || channel == Channel::released)
      continue;
    channel = Channel::released;
    ask(action::ReleaseNode{node});
  }
  for (const NodeId node : absent_.being_tried()) ask(action::ReleaseNode{node});
  RunReport report;
  report.outcome = final_outcome();
  report.attempt = attempt_.number;
  report.ranks = attempt_.progress.ends();
  report.elapsed = now_ - started_;
  ledger_.close(now_);
  report.spent = ledger_.spent();
  report.leftovers = leftovers_;
  report.earlier = std::move(earlier_);
  ask(action::Finish{std::move(report)});
  finished_ = true;
}

// ---- events

void Supervisor::handle(const event::NodeReady& e) {
  const auto node = nodes_.find(e.node);
  if (node == nodes_.end() && e.attempt <= attempt_.number) return join_again(e.node);
  if (node == nodes_.end() || node->second != Channel::opening) return;
  if (e.attempt != attempt_.number) return;
  node->second = Channel::ready;
  --nodes_opening_;
  if (returns_.is_trying(e.node)) {
    returns_.came_back(e.node);
    ask(action::Tell{wording::node_is_back(node_name(e.node))});
    if (outside_.contains(e.node)) gather(e.node);
    leave_out_lost();  // the others that are waited for may not be needed any more
  }
  if (nodes_opening_ == 0) all_opened();
}

void Supervisor::handle(const event::NodeLost& e) {
  const auto node = nodes_.find(e.node);
  if (node == nodes_.end()) return absent_.try_failed(e.node, e.what, now_);
  const Channel before = node->second;
  if (before == Channel::none || before == Channel::lost || before == Channel::released) return;
  const bool was_opening = before == Channel::opening;
  if (!returns_.is_trying(e.node)) note_lost(e);
  node->second = Channel::lost;
  if (leave_out_idle(e)) return;
  if (before == Channel::returned) outside_.insert(e.node);
  if (waits_for_lost_nodes() || goes_on_without_lost())
    return wait_for_lost(e.node, before, e.what);
  if (phase_ == Phase::run && attempt_.progress.is_open(e.node)) {
    ledger_.stalled(e.silence, now_);
    attempt_.unnoticed = e.silence;
  }
  if (phase_ != Phase::connect) return lose({e.node, e.what, e.heard_at});
  attempt_.not_connected.push_back({e.node, e.what, e.heard_at});
  if (was_opening) --nodes_opening_;
  if (nodes_opening_ == 0) all_opened();
}

void Supervisor::handle(const event::NodeAdded& e) {
  if (!names_.emplace(e.node, e.name).second) return;
  nodes_[e.node] = Channel::none;
  if (phase_ == Phase::connect) connect(e.node);
}

void Supervisor::handle(const event::NodeWithdrawn& e) {
  if (nodes_.contains(e.node)) withdrawn_.insert(e.node);
}

void Supervisor::handle(const event::PlanMade& e) {
  if (phase_ != Phase::plan || e.attempt != attempt_.number) return;
  AttemptProgress progress(e.node_of_rank);
  for (const NodeId node : progress.nodes()) {
    const auto known = nodes_.find(node);
    if (known != nodes_.end() && known->second == Channel::ready) continue;
    return halt(ended::by_internal_error("the plan uses node " + std::to_string(node.value) +
                                         ", which is not connected"));
  }
  attempt_.progress = std::move(progress);
  if (e.starter) {
    const Duration limit = 2 * config_.connect_limit;
    attempt_.starter.emplace(*e.starter, node_name(e.starter->node), after(limit), limit);
  }
  attempt_.decides = e.decides;
  attempt_.decides.resize(e.node_of_rank.size(), e.decides.empty());
  attempt_.deciding_left = static_cast<std::uint32_t>(
      std::count(attempt_.decides.begin(), attempt_.decides.end(), true));
  advance(Step::planned);
}

void Supervisor::handle(const event::PlanFailed& e) {
  if (phase_ == Phase::plan) halt(ended::by_plan_error(e.error));
}

void Supervisor::handle(const event::RankStarted& e) {
  if (!has_ranks_now(e.attempt)) return;
  const std::uint32_t before = attempt_.progress.begun();
  attempt_.progress.note_start(e.rank, e.at);
  if (attempt_.progress.begun() > before) note_begun();
  attend_to_starter();
}

void Supervisor::handle(const event::RankNotStarted& e) {
  if (!has_ranks_now(e.attempt)) return;
  RankEnd end;
  end.how = RankEnd::How::cannot_start;
  end.start_failure = e.failure;
  end.ended = e.at;
  end_rank(e.rank, std::move(end), e.clock_error);
}

void Supervisor::handle(const event::RankExited& e) {
  if (!has_ranks_now(e.attempt)) return;
  RankEnd end;
  end.how = read_end(e.status, e.after_signal, attempt_.kill_sent);
  end.status = e.status;
  // A world of the wrong size is always a mistake, unless it has one rank.
  const bool is_alone = end.status.mpi == MpiEnd::other_world && end.status.mpi_world == 1;
  const bool is_optional = end.status.mpi == MpiEnd::never_connected || is_alone;
  if (config_.mpi_init_optional && is_optional) {
    end.status.mpi = MpiEnd::fine;
    end.status.mpi_world = 0;
  }
  end.ended = e.at;
  end_rank(e.rank, std::move(end), e.clock_error);
}

void Supervisor::handle(const event::NodeEmpty& e) {
  if (!has_ranks_now(e.attempt) || !attempt_.progress.is_open(e.node)) return;
  leftovers_ += e.leftovers;
  const std::uint32_t unaccounted = attempt_.progress.running_on(e.node);
  if (unaccounted > 0 && !attempt_.outcome) {
    // A rank whose end was not seen may have failed: that is never success.
    attempt_.progress.close(e.node, NodeState::empty);
    halt(ended::by_internal_error("node " + std::to_string(e.node.value) +
                                  " did not report the end of " + counted(unaccounted, "rank")));
    return;
  }
  close_node(e.node, NodeState::empty);
}

void Supervisor::handle(const event::PortTaken& e) {
  if (!has_ranks_now(e.attempt)) return;
  if (!attempt_.outcome || attempt_.outcome->first) attempt_.taken_port = e.taken;
}

void Supervisor::handle(const event::CancelSignal& e) {
  cancel(e.number);
}

void Supervisor::handle(const event::Deadline& e) {
  last_moment_ = e.at;
  if (attempt_.kill_due) attempt_.kill_due = std::min(*attempt_.kill_due, e.at);
}

void Supervisor::handle(const event::FrontGone&) {
  cancel(0);
}

void Supervisor::handle(const event::UserAsked&) {
  if (phase_ == Phase::connect) phase_due_ = after(config_.connect_limit);
}

void Supervisor::handle(const event::Copying& e) {
  if (phase_ != Phase::plan) return;
  phase_due_.reset();
  if (!e.under_way) phase_due_ = after(config_.connect_limit);
}

// ---- decisions

void Supervisor::halt(Outcome outcome) {
  if (phase_ == Phase::stop || done()) return;  // the first one stands
  attempt_.outcome = std::move(outcome);
  attempt_.halted = now_;
  advance(Step::halted);
}

void Supervisor::cancel(int signal) {
  if (!has_ranks()) return halt(ended::by_cancel(signal));
  const std::uint32_t running = attempt_.progress.running();
  if (!attempt_.outcome && running > 0) {
    halt(ended::by_cancel(signal));
    ask(action::Tell{
        wording::stopping_on_cancel(signal, {running, config_.stop_signal, config_.stop_grace})});
    return;
  }
  attempt_.cancelled = true;
  const std::size_t before = actions_.size();
  kill_all();
  if (actions_.size() > before && running > 0) ask(action::Tell{wording::killing(running)});
}

void Supervisor::all_opened() {
  if (nodes_.empty()) {
    return halt(ended::by_plan_error(
        {exit_code::kNodeLost, "no node is left: all of them were taken out of the run"}));
  }
  if (!attempt_.not_connected.empty()) leave_out_lost();
  remove_withdrawn();
  if (attempt_.not_connected.empty()) {
    if (nodes_opening_ == 0) advance(Step::connected);
    return;  // else a lost one has left the set, and its ranks are not fenced yet
  }
  halt(ended::by_lost_nodes(std::exchange(attempt_.not_connected, {})));
}

/// The node's ranks, if any, are lost with it.
void Supervisor::lose(LostNode lost) {
  if (!has_ranks()) return halt(ended::by_lost_nodes({std::move(lost)}));
  const NodeId node = lost.node;
  if (!attempt_.progress.is_open(node)) return;
  if (attempt_.outcome) {
    // When nodes are lost together, as by a cut at the launcher's end, any may be the first.
    if (attempt_.outcome->cause == Cause::node_lost)
      attempt_.outcome->lost_nodes.push_back(std::move(lost));
    return close_node(node, NodeState::lost);
  }
  attempt_.progress.close(node, NodeState::lost);
  halt(ended::by_lost_nodes({std::move(lost)}));
}

void Supervisor::close_node(NodeId node, NodeState how) {
  attempt_.progress.close(node, how);
  attend_to_starter();
  if (attempt_.progress.open_nodes() == 0) attempt_over();
}

void Supervisor::end_rank(Rank rank, RankEnd end, ClockError clock_error) {
  if (!attempt_.progress.is_running(rank)) return;
  const NodeId node = attempt_.progress.node_of(rank);
  const bool own = end.how == RankEnd::How::exited || end.how == RankEnd::How::cannot_start;
  const bool failed = own && (end.start_failure || !end.status.ok());
  if (failed) attempt_.failures.add({rank, node, *end.ended, clock_error});
  Outcome failure = failed ? ended::by_rank(rank, end) : Outcome();
  attempt_.progress.note_end(rank, std::move(end));
  if (attempt_.progress.running() == 0) attempt_.stragglers_due.reset();
  if (attempt_.progress.running_on(node) == 0 &&
      !(attempt_.starter && attempt_.starter->node() == node)) {
    attempt_.to_empty.add({after(config_.end_limit), node});
  }
  attempt_.ended_by_others = attempt_.ended_by_others || (!own && !attempt_.outcome);
  if (failed) halt(std::move(failure));
  attend_to_starter();
  if (own && !failed && !attempt_.outcome) count_success(rank);
}

void Supervisor::count_success(Rank rank) {
  const std::uint32_t running = attempt_.progress.running();
  if (running == 0) return;
  if (attempt_.decides[rank.value] && --attempt_.deciding_left == 0) {
    halt(Outcome());
    ask(action::Tell{
        wording::stopping_the_others({running, config_.stop_signal, config_.stop_grace})});
    return;
  }
  if (config_.stragglers_limit && !attempt_.stragglers_due)
    attempt_.stragglers_due = after(*config_.stragglers_limit);
}

void Supervisor::kill_node(NodeId node) {
  if (!attempt_.progress.is_open(node) || !attempt_.killed.insert(node).second) return;
  attempt_.to_lose.add({after(config_.end_limit), node});
  ask(action::KillRanks{attempt_.number, node});
}

void Supervisor::kill_all() {
  attempt_.kill_due.reset();
  attempt_.kill_sent = true;
  for (const NodeId node : attempt_.progress.nodes()) kill_node(node);
}

// ---- helpers

bool Supervisor::has_ranks_now(Attempt attempt) const {
  return has_ranks() && attempt == attempt_.number;
}

MonotonicTime Supervisor::end_of_grace() const {
  const MonotonicTime usual = attempt_.grace_ends.value_or(after(config_.stop_grace));
  return last_moment_ ? std::min(usual, *last_moment_) : usual;
}

/// A limit beyond the clock's range means no limit.
MonotonicTime Supervisor::after(Duration limit) const {
  const MonotonicTime farthest = MonotonicTime::max();
  if (limit >= std::chrono::duration_cast<Duration>(farthest - now_)) return farthest;
  return now_ + limit;
}

}  // namespace dlaunch
