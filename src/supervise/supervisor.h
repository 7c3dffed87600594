// Supervisor decides what a run does. It takes events and returns actions; it reads no clock, opens
// nothing and never blocks, so that a run can be replayed or simulated. Not thread-safe.
//
// The rules:
//  - When all nodes of the set have answered, the plan is made. Then ranks start on the nodes that
//    the plan uses. The other nodes are released if no attempt can follow.
//  - A node that is added to the set takes part from the next plan on, and is treated like the
//    others from then on. A withdrawn node leaves before the next plan is made, a lost one as soon
//    as ranks of the old attempt cannot run there any more.
//  - A node that cannot be reached ends the run, but only when every other node has answered or
//    failed, or the limit has passed: the user wants to see all such nodes at once.
//  - The first failing rank decides the run's exit code: a code other than 0, a signal, or a failed
//    start. In the same step every node that still has running ranks is told to stop; after
//    `stop_grace`, whatever is not empty is killed; `end_limit` later, what is still not empty
//    counts as lost.
//  - When the ranks that decide (PlanMade) have succeeded, the others are stopped in the same way,
//    and however they end, the run has succeeded.
//  - A node whose ranks have all ended kills what they left behind and reports NodeEmpty unasked.
//    If it does not do so within `end_limit`, it is told to kill, and has `end_limit` again.
//  - When no node holds ranks any more, the nodes are released and the run finishes; or, if
//    restart_policy says so, the next attempt begins after its wait, with fresh facts and a new
//    plan. Never after a cancel, and never when its wait would end after `run_limit`.
//  - With restart.max and node-loss in restart.on, a lost node ends only its attempt. The next
//    attempt waits until the node is connected again, at most `return_limit`. A node that is lost
//    before its ranks have started is waited for in the same way. Nothing starts while ranks of the
//    old attempt may run on a lost node.
//  - While enough others are there (nodes_needed), a lost node is not waited for: it leaves the set
//    as a withdrawn one does, never before its ranks are fenced, and does not forbid a restart. The
//    same holds for a node that cannot be reached at the start, or is lost before its ranks have
//    started. A node without ranks that is lost while others have ranks, or fails its check then,
//    leaves the set at once. A node that was left out is tried again while the run goes on, ever
//    less often: it returns to the set when it answers, and the next plan may use it. Nothing waits
//    for it.
//  - If a process of the attempt starts the ranks (PlanMade::starter), they must all begin within
//    twice `connect_limit`. A failure of that process ends the attempt; if a rank failed by
//    itself, the rank is the cause (starter.h). The process is told to end when no rank is left
//    after a halt. Its node is empty only when the process has ended, too; it has `end_limit` for
//    that after the last rank.
//  - A Hang ends its attempt as a limit does, and is a cause of its own for a restart: no rank has
//    failed. If no rank is running, it is ignored.
//  - The first decision stands (AttemptState::outcome). A cancel after it, or a second cancel, only
//    makes the kill immediate. A cancel when all ranks have succeeded does not change the outcome.
//  - A Deadline limits the grace time of a stop under way and of later ones: it ends by then.
//  - A Preempted node is withdrawn. Its notice ends the attempt like a limit, with the time left as
//    the grace time (grace_after_notice). It is a cause of its own for a restart, if enough other
//    nodes remain: nodes_needed or, without that setting, as many as the attempt used.
//  - A step that the lifecycle does not have, or a phase that nothing can end any more, is a bug of
//    ours: everything is killed, and the run ends with Cause::internal in the same step.
//  - Events of another attempt, of a closed node, of a node that is not in the set, of an ended
//    rank, or without meaning in the phase are ignored. Messages of one node must be given in the
//    order in which it sent them; those of different nodes may arrive in any order.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/action.h"
#include "model/event.h"
#include "model/ids.h"
#include "model/job_spec.h"
#include "model/time.h"
#include "supervise/attempt.h"
#include "supervise/ledger.h"
#include "supervise/lifecycle.h"
#include "supervise/node_return.h"
#include "supervise/outcome.h"
#include "supervise/restart_policy.h"
#include "supervise/wording.h"

namespace dlaunch {

struct SupervisorConfig {
  /// The set of nodes at the start, with their names as the user wrote them.
  wording::NodeNames nodes = {{NodeId(0), ""}};
  int stop_signal = 15;   // number
  Duration stop_grace{};  // timeouts.stop: from StopRanks to KillRanks
  /// timeouts.run, counted from the first StartRanks of the run to the end of its last rank.
  std::optional<Duration> run_limit;
  /// timeouts.stragglers_after_success: for the other ranks, once a rank has succeeded.
  std::optional<Duration> stragglers_limit;
  RestartPolicy restart;
  /// How often in a row an attempt whose port was taken is repeated with another port.
  std::uint32_t port_retries = 0;
  Duration connect_limit{};  // timeouts.connect; also the limit for making a plan, copying excluded
  /// mpi.init: a rank that exits with 0 and never called MPI_Init has not failed.
  bool mpi_init_optional = false;
  /// How many nodes an attempt has at best, and how many it needs at least: while that many others
  /// are there, a lost node is left out of the set and not waited for. 0: all are needed.
  std::uint32_t nodes_wanted = 0;
  std::uint32_t nodes_needed = 0;
  /// timeouts.node_return: how long another attempt waits for a lost node.
  Duration return_limit = std::chrono::minutes(5);
  /// How long after KillRanks a node may take to report NodeEmpty before it counts as lost, and how
  /// long after its last rank's end before it is sent KillRanks. More than 0.
  Duration end_limit = std::chrono::seconds(10);
};

class Supervisor {
 public:
  /// `table`: only tests pass another one. It must outlive the supervisor.
  explicit Supervisor(const SupervisorConfig&, std::span<const Transition> table = lifecycle());

  /// The first call, once: what to do at the start (ConnectNode for each node of the set).
  [[nodiscard]] std::vector<Action> start(MonotonicTime now);

  /// What to do now, in this order. `now` never goes back. After any event, the limits that `now`
  /// has reached are enforced. O(log nodes) amortised; O(nodes + ranks) for the few events that
  /// change the phase or the set.
  [[nodiscard]] std::vector<Action> on(const Event&, MonotonicTime now);

  /// When on(Tick) must be called at the latest; nullopt: no deadline. Always after the `now` of
  /// the last call.
  [[nodiscard]] std::optional<MonotonicTime> deadline() const;

  /// Finish was returned; later events are ignored.
  [[nodiscard]] bool done() const { return phase_ == Phase::done; }
  [[nodiscard]] Phase phase() const { return phase_; }

 private:
  /// none: not asked yet. returned: connected again, but not yet asked for the facts of an attempt.
  enum class Channel : std::uint8_t { none, opening, ready, lost, released, returned };

  void handle(const event::NodeReady&);
  void handle(const event::NodeLost&);
  void handle(const event::NodeAdded&);
  void handle(const event::NodeWithdrawn&);
  void handle(const event::PlanMade&);
  void handle(const event::PlanFailed&);
  void handle(const event::RankStarted&);
  void handle(const event::RankNotStarted&);
  void handle(const event::RankExited&);
  void handle(const event::NodeEmpty&);
  void handle(const event::PortTaken&);
  void handle(const event::StarterEnded&);
  void handle(const event::Hang&);
  void handle(const event::Progress&);
  void handle(const event::Stall&);
  void handle(const event::Preempted&);
  void handle(const event::CancelSignal&);
  void handle(const event::Deadline&);
  void handle(const event::FrontGone&);
  void handle(const event::UserAsked&);
  void handle(const event::Copying&);
  void handle(const event::Tick&) {}

  void advance(Step);
  void break_off(const std::string& what);
  [[nodiscard]] bool is_stuck() const;
  void enter_connect();
  void connect(NodeId);
  void connect_again();
  void leave_out_lost();
  [[nodiscard]] bool leave_out_idle(const event::NodeLost&);
  void exclude_if_bad(const Outcome& outcome);
  [[nodiscard]] std::size_t nodes_left_without(std::size_t lost) const {
    return nodes_.size() - withdrawn_.size() - lost;
  }
  [[nodiscard]] std::size_t nodes_there(std::optional<NodeId> left_out = {}) const;
  [[nodiscard]] bool suffices(std::size_t nodes) const {
    return config_.nodes_needed > 0 && nodes >= config_.nodes_needed;
  }
  void remove_withdrawn();
  void remove(NodeId);
  void enter_plan();
  void enter_run();
  void enter_stop();
  void enter_wait();
  void enter_done();

  /// Ends the attempt, or the wait for it, with this outcome unless it has one already.
  void halt(Outcome);
  void cancel(int signal);
  void lose(LostNode lost);
  /// Every node has answered or failed.
  void all_opened();
  [[nodiscard]] bool waits_for_lost_nodes() const;
  [[nodiscard]] bool needs_lost_nodes() const;
  [[nodiscard]] bool goes_on_without_lost() const;
  void wait_for_lost(NodeId node, Channel before, const std::string& what);
  void try_lost_nodes();
  void give_up_silent(NodeReturns& tried);
  void gather(NodeId);
  [[nodiscard]] bool tries_absent_nodes() const;
  void join_again(NodeId);
  void note_lost(const event::NodeLost& e);
  void close_node(NodeId, AttemptProgress::NodeState);
  /// No node holds ranks of the attempt any more.
  void attempt_over();
  /// The outcome of the attempt, with the rank that failed first.
  [[nodiscard]] Outcome final_outcome() const;
  [[nodiscard]] FailedAttempt as_failed() const;
  [[nodiscard]] RestartDecision decide_restart(const FailedAttempt&, RestartBudget&) const;
  [[nodiscard]] RestartDecision may_follow() const;
  [[nodiscard]] RestartDecision within_run_limit(RestartDecision decision) const;
  [[nodiscard]] bool lacks_nodes() const;
  void repeat(FailedAttempt failed, const RestartDecision& decision);
  void end_rank(Rank, RankEnd, ClockError);
  void count_success(Rank);
  void note_begun();
  void attend_to_starter();
  void kill_node(NodeId);
  void kill_all();
  void enforce_limits();
  void enforce_phase_limit();
  void enforce_run_limit();
  void stop_stragglers();
  [[nodiscard]] std::optional<MonotonicTime> run_due() const;
  [[nodiscard]] std::optional<MonotonicTime> own_deadline() const;
  [[nodiscard]] bool has_ranks() const { return phase_ == Phase::run || phase_ == Phase::stop; }

  /// This moment belongs to the first attempt, or to a restart.
  [[nodiscard]] Spent first_or_restart(Spent first) const {
    return earlier_.empty() ? first : Spent::restarting;
  }
  [[nodiscard]] bool has_ranks_now(Attempt) const;
  [[nodiscard]] std::string node_name(NodeId node) const { return wording::node(names_, node); }
  [[nodiscard]] MonotonicTime after(Duration) const;
  [[nodiscard]] MonotonicTime end_of_grace() const;
  /// Asks for no action after Finish.
  void ask(Action action) {
    if (!finished_) actions_.push_back(std::move(action));
  }

  SupervisorConfig config_;
  std::span<const Transition> table_;
  Phase phase_ = Phase::connect;
  std::map<NodeId, Channel> nodes_;  // the set of the run
  std::set<NodeId> withdrawn_;       // nodes of the set that are to leave
  std::set<NodeId> outside_;         // nodes that returned and were lost before they were asked
  std::map<NodeId, std::uint32_t> failures_on_;  // attempts that a rank there has ended
  wording::NodeNames names_;         // of all nodes that were ever in the set
  bool asked_all_ = false;           // the first ConnectNode for each node of the start
  std::uint32_t nodes_opening_ = 0;  // being connected, or waited for
  RestartBudget restarts_;
  NodeReturns returns_;
  NodeReturns absent_;  // left out as lost; they return to the set when they answer
  std::set<NodeId> told_silent_;  // the user knows that they reported no facts
  Ledger ledger_;
  std::vector<FailedAttempt> earlier_;
  MonotonicTime failed_at_{};  // the last of them
  AttemptState attempt_;
  std::uint32_t leftovers_ = 0;  // of all attempts
  MonotonicTime started_{};
  std::optional<MonotonicTime> run_due_;      // once ranks were started
  std::optional<MonotonicTime> last_moment_;  // event::Deadline
  std::optional<MonotonicTime> phase_due_;    // limit of connect and plan, end of wait
  MonotonicTime now_{};
  std::vector<Action> actions_;
  bool finished_ = false;  // the supervisor has asked for Finish
};

}  // namespace dlaunch
