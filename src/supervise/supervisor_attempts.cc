// How one attempt of the supervisor's run ends, by itself or at a limit, and whether another
// follows.
#include <algorithm>
#include <utility>

#include "supervise/preemption.h"
#include "supervise/supervisor.h"
#include "supervise/wording.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

// A node that has just been lost is seldom back at once, and nothing waits for it.
constexpr Duration kAbsentAtLeast = std::chrono::seconds(2);

}  // namespace

Outcome Supervisor::final_outcome() const {
  if (!attempt_.outcome) return {};
  Outcome outcome = *attempt_.outcome;
  if (const auto first = attempt_.failures.first()) {
    const RankEnd end = attempt_.progress.end_of(first->rank);
    Outcome by_rank = ended::by_rank(first->rank, end);
    by_rank.perhaps_first = first->perhaps;
    if (outcome.first) outcome = by_rank;
    if (attempt_.starter) outcome = attempt_.starter->settle(outcome, by_rank, *end.ended);
  }
  if (attempt_.taken_port && outcome.from_rank) {
    outcome.cause = Cause::port_taken;
    outcome.port = attempt_.taken_port;
  }
  return outcome;
}

void Supervisor::attempt_over() {
  if (!attempt_.outcome && attempt_.ended_by_others) {
    // No rank has failed by itself, yet some were ended. The halt calls this function again.
    return halt(attempt_.starter
                    ? attempt_.starter->ended_ranks()
                    : ended::by_internal_error("a node ended ranks that it was not told to end"));
  }
  if (!attempt_.outcome) return advance(Step::emptied);
  FailedAttempt failed = as_failed();
  const RestartDecision decision = decide_restart(failed, restarts_);
  if (decision.kind != RestartDecision::Kind::none) return repeat(std::move(failed), decision);
  if (!decision.why_not.empty()) ask(action::Tell{wording::no_restart(decision.why_not)});
  advance(Step::emptied);
}

/// The record of this attempt if it ended now. Requires that it has an outcome.
FailedAttempt Supervisor::as_failed() const {
  FailedAttempt failed;
  failed.attempt = attempt_.number;
  failed.outcome = final_outcome();
  failed.ran = attempt_.halted - attempt_.began;
  failed.unnoticed = attempt_.unnoticed;
  failed.stopped = now_ - attempt_.halted;
  return failed;
}

RestartDecision Supervisor::decide_restart(const FailedAttempt& failed,
                                           RestartBudget& budget) const {
  if (attempt_.cancelled) return {};
  if (lacks_nodes())
    return {RestartDecision::Kind::none, Duration(0), 0,
            restarts_.max() > 0 ? wording::too_few_remain() : ""};
  return within_run_limit(budget.after(failed, {needs_lost_nodes(), attempt_.node_stuck}));
}

/// Whether the run can have another attempt that is not planned yet. While one runs, this assumes
/// that it ends now, by a failure that is restarted.
RestartDecision Supervisor::may_follow() const {
  if (phase_ == Phase::wait || phase_ == Phase::connect)
    return {RestartDecision::Kind::restart, Duration(0), 0, ""};
  if (attempt_.outcome) {
    RestartBudget unspent = restarts_;
    return decide_restart(as_failed(), unspent);
  }
  const bool is_planned = phase_ == Phase::plan;
  return within_run_limit(restarts_.at_best(is_planned ? MonotonicTime(0) : now_ - attempt_.began));
}

RestartDecision Supervisor::within_run_limit(RestartDecision decision) const {
  const bool follows = decision.kind != RestartDecision::Kind::none;
  if (follows && run_due_ && after(decision.wait) >= *run_due_) {
    return {RestartDecision::Kind::none, Duration(0), 0,
            wording::beyond_the_limit(decision.wait, *config_.run_limit)};
  }
  return decision;
}

/// A node of the attempt is taken away, and fewer remain than the next attempt needs.
bool Supervisor::lacks_nodes() const {
  const std::size_t needed =
      config_.nodes_needed != 0 ? config_.nodes_needed : attempt_.progress.nodes().size();
  return attempt_.node_taken && nodes_left_without(0) < needed;
}

void Supervisor::repeat(FailedAttempt failed, const RestartDecision& decision) {
  if (failed.outcome.first) failed.end = attempt_.progress.end_of(*failed.outcome.first);
  failed.wait = decision.wait;
  failed.restart = decision.number;
  failed.restarts_max = restarts_.max();
  const bool restarts = decision.kind == RestartDecision::Kind::restart;
  if (restarts && config_.restart.exclude_bad_nodes) exclude_if_bad(failed.outcome);
  ask(action::Restart{failed, Attempt(attempt_.number.value + 1)});
  ask(action::Tell{restarts ? wording::restart(failed, names_) : wording::new_port(failed)});
  failed_at_ = attempt_.halted;
  earlier_.push_back(std::move(failed));
  advance(Step::failed);
}

/// A program that fails by itself does so on any node, and mostly on the first one; a node where
/// attempts fail again and again is taken for the cause if the job can do without it, and without
/// those that are lost.
void Supervisor::exclude_if_bad(const Outcome& outcome) {
  constexpr std::uint32_t kTwice = 2;
  if (outcome.cause == Cause::port_taken || !outcome.first) return;
  const NodeId node = attempt_.progress.node_of(*outcome.first);
  if (++failures_on_[node] < kTwice || withdrawn_.contains(node)) return;
  const std::size_t left = nodes_there(node);
  if (!suffices(left)) return;
  withdrawn_.insert(node);
  ask(action::Tell{wording::excluded(node_name(node), left, config_.nodes_wanted)});
}

// ---- ranks that another process starts

/// Call after ranks have begun, ended, or been lost.
void Supervisor::attend_to_starter() {
  if (!attempt_.starter) return;
  Starter& starter = *attempt_.starter;
  const AttemptProgress& progress = attempt_.progress;
  if (progress.begun() == progress.ranks()) starter.clear_begun_due();
  if (progress.running() > 0 || !progress.is_open(starter.node())) return;
  if (starter.note_alone()) attempt_.to_empty.add({after(config_.end_limit), starter.node()});
  if (attempt_.outcome && starter.needs_stop())
    ask(action::StopRanks{attempt_.number, starter.node(), config_.stop_signal});
}

void Supervisor::handle(const event::StarterEnded& e) {
  if (!has_ranks_now(e.attempt) || !attempt_.starter || attempt_.starter->node() != e.node) return;
  if (auto outcome = attempt_.starter->ended(e, after(config_.end_limit)))
    halt(*std::move(outcome));
}

// ---- nodes that are lost and may return

/// The node may be contacted at once, or, if it has ranks of this attempt, when they are fenced.
void Supervisor::note_lost(const event::NodeLost& e) {
  const bool has_ranks = attempt_.progress.is_open(e.node);
  returns_.note_lost({e.node, e.what, e.heard_at}, has_ranks ? after(e.may_run_for) : now_);
}

bool Supervisor::waits_for_lost_nodes() const {
  if (earlier_.empty() || !restarts_.waits_for_nodes()) return false;
  return phase_ == Phase::wait || phase_ == Phase::connect || phase_ == Phase::plan;
}

/// Whether too few nodes remain without the lost ones. A node that leaves the set is not needed
/// again.
bool Supervisor::needs_lost_nodes() const {
  const std::size_t there = nodes_there();
  return there < nodes_left_without(0) && !suffices(there);
}

/// Of the set, without `left_out`: neither lost, nor waited for, nor about to leave.
std::size_t Supervisor::nodes_there(std::optional<NodeId> left_out) const {
  return static_cast<std::size_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [&](const auto& node) {
        const bool is_down = node.second == Channel::lost || returns_.waits_for(node.first);
        return !is_down && !withdrawn_.contains(node.first) && node.first != left_out;
      }));
}

/// True only while nothing runs, and no node is being asked.
bool Supervisor::goes_on_without_lost() const {
  return (phase_ == Phase::wait || phase_ == Phase::plan) && !needs_lost_nodes();
}

void Supervisor::wait_for_lost(NodeId node, Channel before, const std::string& what) {
  if (phase_ == Phase::wait) return;  // the wait begins with the next attempt
  if (returns_.is_trying(node)) return returns_.try_failed(node, what, now_);
  if (phase_ == Phase::plan) return advance(Step::relost);
  if (before == Channel::ready) ++nodes_opening_;
  returns_.wait_for(node, now_);
  leave_out_lost();
  if (withdrawn_.contains(node)) return;  // it is removed when its ranks are fenced
  ledger_.turn(Spent::lost_nodes, now_);
  ask(action::Tell{wording::waiting_for({node_name(node)}, config_.return_limit)});
}

/// Connected nodes report their facts again, lost ones are connected again, added ones for the
/// first time. If a node was lost while the plan was made, the others have reported already.
void Supervisor::connect_again() {
  const Attempt next(earlier_.empty() ? 0 : earlier_.back().attempt.value + 1);
  const bool begins = attempt_.number != next;
  if (begins) {
    attempt_ = AttemptState();
    attempt_.number = next;
    phase_due_ = after(config_.connect_limit);
  }
  leave_out_lost();
  remove_withdrawn();
  nodes_opening_ = 0;
  std::vector<std::string> lost;
  for (auto& [node, channel] : nodes_) {
    if (channel == Channel::none) {
      connect(node);
    } else if (channel == Channel::lost) {
      returns_.wait_for(node, now_);
      ++nodes_opening_;
      if (!withdrawn_.contains(node)) lost.push_back(node_name(node));
    } else if (begins || channel == Channel::returned) {
      gather(node);
    }
  }
  ledger_.turn(lost.empty() ? first_or_restart(Spent::connect) : Spent::lost_nodes, now_);
  if (!lost.empty()) ask(action::Tell{wording::waiting_for(lost, config_.return_limit)});
  if (nodes_opening_ == 0) all_opened();
}

void Supervisor::gather(NodeId node) {
  phase_due_ = after(config_.connect_limit);
  nodes_.at(node) = Channel::opening;
  outside_.erase(node);
  ++nodes_opening_;
  ask(action::GatherFacts{attempt_.number, node});
}

/// Withdraws what is lost, or was not connected, if the others suffice.
void Supervisor::leave_out_lost() {
  std::vector<NodeId> failed;
  for (const auto& [node, channel] : nodes_) {
    const bool is_down = channel == Channel::lost || returns_.waits_for(node) ||
                         std::any_of(attempt_.not_connected.begin(), attempt_.not_connected.end(),
                                     [id = node](const LostNode& one) { return one.node == id; });
    if (is_down && !withdrawn_.contains(node)) failed.push_back(node);
  }
  const std::size_t left = nodes_left_without(failed.size());
  if (failed.empty() || !suffices(left)) return;
  std::vector<std::string> names;
  for (const NodeId node : failed) {
    names.push_back(node_name(node));
    absent_.note_lost({node, ""}, now_);
  }
  withdrawn_.insert(failed.begin(), failed.end());
  ask(action::Tell{wording::goes_on_without(names, left, config_.nodes_wanted)});
}

/// Call it only when no attempt has running ranks. A lost node stays in the set while ranks may run
/// on it, so that the next attempt waits for their end.
void Supervisor::remove_withdrawn() {
  for (auto next = withdrawn_.begin(); next != withdrawn_.end();) {
    const NodeId node = *next;
    const Channel channel = nodes_.at(node);
    if (channel == Channel::lost && returns_.fenced(node) > now_) {
      ++next;
      continue;
    }
    const bool is_waited_for = channel == Channel::opening || returns_.waits_for(node);
    if (phase_ == Phase::connect && is_waited_for) --nodes_opening_;
    std::erase_if(attempt_.not_connected, [node](const auto& one) { return one.node == node; });
    next = withdrawn_.erase(next);
    remove(node);
  }
}

/// The node is tried again if it was noted as absent.
void Supervisor::remove(NodeId node) {
  returns_.forget(node);
  nodes_.erase(node);
  ask(action::RemoveNode{node});
  absent_.wait_for(node, after(kAbsentAtLeast));
}

/// While ranks run, a lost node that has none of them leaves the set at once if the others suffice.
bool Supervisor::leave_out_idle(const event::NodeLost& e) {
  if (phase_ != Phase::run || attempt_.progress.has_ranks(e.node)) return false;
  if (withdrawn_.contains(e.node) || !suffices(nodes_left_without(1))) return false;
  absent_.note_lost({e.node, ""}, now_);
  remove(e.node);
  ask(action::Tell{wording::idle_node_lost(node_name(e.node), e.what, nodes_left_without(0),
                                           config_.nodes_wanted)});
  return true;
}

/// True only while an attempt connects or runs, in a run that may restart. At other times, output
/// is fetched or nothing would use the nodes.
bool Supervisor::tries_absent_nodes() const {
  return (phase_ == Phase::connect || phase_ == Phase::run) && restarts_.max() > 0;
}

/// A node that was left out, and removed when nothing could run on it any more, has answered.
void Supervisor::join_again(NodeId node) {
  if (!absent_.is_trying(node)) return;
  absent_.forget(node);
  nodes_[node] = Channel::returned;
  const RestartDecision next = may_follow();
  ask(action::Tell{
      next.kind == RestartDecision::Kind::none
          ? wording::node_is_not_needed(node_name(node), next.why_not)
          : wording::node_joins(node_name(node), nodes_there(), config_.nodes_wanted)});
  if (phase_ != Phase::connect) return;
  gather(node);
  leave_out_lost();  // those that are waited for may not be needed any more
}

/// An agent may hang while it gathers its facts and go on with heartbeats, so that its session does
/// not end by itself.
void Supervisor::give_up_silent(NodeReturns& tried) {
  for (const NodeId node : tried.silent(now_)) {
    const std::string what = wording::no_facts(config_.connect_limit);
    tried.try_failed(node, what, now_);
    if (const auto member = nodes_.find(node); member != nodes_.end())
      member->second = Channel::lost;
    ask(action::ReleaseNode{node});
    if (told_silent_.insert(node).second)
      ask(action::Tell{wording::tried_again(node_name(node), what)});
  }
}

void Supervisor::try_lost_nodes() {
  give_up_silent(absent_);
  give_up_silent(returns_);
  if (tries_absent_nodes()) {
    for (const NodeReturns::Try& one : absent_.take_tries(now_))
      ask(action::ConnectNode{one.node, attempt_.number, one.within});
  }
  if (phase_ != Phase::connect) return;
  std::vector<LostNode> never_came;
  for (NodeReturns::Waited& waited : returns_.overdue(now_)) {
    LostNode node = std::move(waited.lost);
    node.what = wording::no_return(node.what, config_.return_limit, waited.last_words);
    never_came.push_back(std::move(node));
  }
  if (!never_came.empty()) return halt(ended::by_lost_nodes(std::move(never_came)));
  for (const NodeReturns::Try& one : returns_.take_tries(now_)) {
    nodes_.at(one.node) = Channel::opening;
    ask(action::ConnectNode{one.node, attempt_.number, one.within});
  }
}

// ---- the account of the run's time

/// Another rank has begun.
void Supervisor::note_begun() {
  if (phase_ != Phase::run || attempt_.progress.begun() < attempt_.progress.ranks()) return;
  ledger_.running(now_);
  if (!earlier_.empty()) earlier_.back().again = now_ - failed_at_;
}

void Supervisor::handle(const event::Progress& e) {
  if (!has_ranks_now(e.attempt)) return;
  ledger_.progress(e.step, now_);
  if (!earlier_.empty()) earlier_.back().steps_lost = ledger_.steps_lost();
}

void Supervisor::handle(const event::Stall& e) {
  if (has_ranks_now(e.attempt)) ledger_.stalled(e.silence, now_);
}

// ---- limits of the run, of phases, of nodes

void Supervisor::enforce_limits() {
  if (const auto due = run_due(); due && *due <= now_) enforce_run_limit();
  if (phase_due_ && *phase_due_ <= now_) enforce_phase_limit();
  if (auto& starter = attempt_.starter;
      starter && starter->begun_due() && *starter->begun_due() <= now_) {
    starter->clear_begun_due();
    halt(starter->too_few(attempt_.progress.begun(), attempt_.progress.ranks()));
  }
  if (attempt_.stragglers_due && *attempt_.stragglers_due <= now_) stop_stragglers();
  while (const auto node = attempt_.to_empty.take_due(now_)) kill_node(*node);
  while (const auto node = attempt_.to_lose.take_due(now_)) {
    if (!attempt_.progress.is_open(*node)) continue;  // it became empty in time
    attempt_.node_stuck = true;
    lose({*node, wording::not_empty(config_.end_limit), std::nullopt});
  }
  // Last, because each of the others may have begun a grace time of 0.
  if (attempt_.kill_due && *attempt_.kill_due <= now_) kill_all();
  attempt_.to_empty.forget_closed(attempt_.progress);
  attempt_.to_lose.forget_closed(attempt_.progress);
  if (!withdrawn_.empty() && (phase_ == Phase::wait || phase_ == Phase::connect)) {
    remove_withdrawn();
    if (phase_ == Phase::connect && nodes_opening_ == 0) all_opened();
  }
  try_lost_nodes();
}

void Supervisor::enforce_phase_limit() {
  if (phase_ == Phase::wait) return advance(Step::waited);
  if (phase_ == Phase::plan) {
    return halt(
        ended::by_plan_error({exit_code::kInternal, "the plan was not ready within " +
                                                        wording::duration(config_.connect_limit) +
                                                        " (timeouts.connect)"}));
  }
  for (const auto& [node, channel] : nodes_) {
    if (channel != Channel::opening || returns_.waits_for(node)) continue;
    attempt_.not_connected.push_back({node, wording::no_answer(config_.connect_limit)});
  }
  phase_due_.reset();
  if (!attempt_.not_connected.empty()) all_opened();
}

std::optional<MonotonicTime> Supervisor::run_due() const {
  switch (phase_) {
    case Phase::connect:
    case Phase::plan:
    case Phase::wait:
      return run_due_;
    case Phase::run:
      return attempt_.progress.running() > 0 ? run_due_ : std::nullopt;
    case Phase::stop:  // the attempt is ending already
    case Phase::collect:
    case Phase::done:
      break;
  }
  return std::nullopt;
}

void Supervisor::enforce_run_limit() {
  const std::uint32_t running = attempt_.progress.running();
  const bool stops_ranks = has_ranks();
  halt(ended::by_time_limit(*config_.run_limit));
  if (stops_ranks) {
    ask(action::Tell{wording::stopping_at_limit(
        *config_.run_limit, {running, config_.stop_signal, config_.stop_grace})});
  }
}

void Supervisor::handle(const event::Hang& e) {
  if (phase_ != Phase::run || e.attempt != attempt_.number) return;
  const std::uint32_t running = attempt_.progress.running();
  if (running == 0) return;  // the last ones have ended meanwhile
  ledger_.stalled(e.limit, now_);
  attempt_.unnoticed = e.limit;
  halt(ended::by_hang(e.what, e.limit));
  ask(action::Tell{
      wording::stopping_on_hang(e.what, {running, config_.stop_signal, config_.stop_grace})});
}

void Supervisor::handle(const event::Preempted& e) {
  if (!has_ranks_now(e.attempt) || !nodes_.contains(e.node)) return;
  withdrawn_.insert(e.node);
  attempt_.node_taken = true;
  const Duration grace = grace_after_notice(e.left, config_.stop_grace);
  if (phase_ == Phase::stop) {
    if (e.left && attempt_.kill_due) attempt_.kill_due = std::min(*attempt_.kill_due, after(grace));
    auto& known = attempt_.outcome->preempted;
    if (attempt_.outcome->cause == Cause::preempted && !contains(known, e.node))
      known.push_back(e.node);
    return;
  }
  const std::uint32_t running = attempt_.progress.running();
  if (running == 0) return;  // the last ones have ended meanwhile
  const std::string what = wording::preempted(node_name(e.node), e.reason);
  attempt_.grace_ends = after(grace);
  halt(ended::by_preemption(e.node, what));
  ask(action::Tell{
      wording::stopping_on_notice(what, e.left, {running, config_.stop_signal, grace})});
}

void Supervisor::stop_stragglers() {
  const std::uint32_t running = attempt_.progress.running();
  halt(ended::by_stragglers(attempt_.progress.running_ranks(), *config_.stragglers_limit));
  ask(action::Tell{wording::stopping_stragglers(
      *config_.stragglers_limit, {running, config_.stop_signal, config_.stop_grace})});
}

}  // namespace dlaunch
