// The state of a simulated cluster: the launcher's loop around a supervisor, the channels, and the
// agents (agents.cc). For simulated_cluster.cc and agents.cc only.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "attempts.h"
#include "event_queue.h"
#include "simulated_cluster.h"

namespace dlaunch::sim {

using namespace std::chrono_literals;

class Cluster {
 public:
  Cluster(const Scenario& scenario, Bug bug)
      : scenario_(scenario),
        bug_(std::move(bug)),
        dice_(scenario.seed ^ 0x9e3779b97f4a7c15),
        supervisor_(config()) {
    trace_.scenario = scenario;
    nodes_.resize(scenario.nodes.size());
    agents_.resize(scenario.nodes.size());
    place_ranks();
    begin_attempt(Attempt{0});
  }

  Trace run() {
    schedule_faults();
    record(std::nullopt, supervisor_.start(now()));
    while (!supervisor_.done() && take_step()) {
    }
    truth_.push_back(ranks_);
    placed_.push_back(node_of_);
    trace_.attempt = attempt_;
    trace_.truth = truth_;
    trace_.placed = placed_;
    trace_.ranks = ranks_;
    trace_.nodes = nodes_;
    // Messages in transit when it ended must change nothing.
    for (int i = 0; i < 20 && !queue_.empty(); ++i) queue_.run_next();
    return std::move(trace_);
  }

 private:
  [[nodiscard]] SupervisorConfig config() const {
    SupervisorConfig config = scenario_.config;
    if (bug_.configure) bug_.configure(config);
    return config;
  }

  struct Agent {
    std::vector<std::uint32_t> ranks;
    std::uint32_t running = 0;
    bool told_to_stop = false;  // or to kill: nothing is started after that
    bool start_failed = false;
    bool started = false;
    bool emptying = false;
    bool removed = false;                     // from the set
    std::uint32_t life = 0;                   // counts the agents of the node
    std::uint32_t tries = 0;                  // to connect it again
    std::optional<MonotonicTime> returns_at;  // once it has died
    MonotonicTime fenced{};                   // its ranks are cut off, and run until then
    MonotonicTime last_to_launcher{};
    MonotonicTime last_to_agent{};
    WallTime last_time{};      // of an event there
    bool answers_not = false;  // once it is connected again
  };
  struct Mpirun {
    bool runs = false;
    bool is_gone = false;
  };

  [[nodiscard]] MonotonicTime now() const { return queue_.now(); }
  void schedule(MonotonicTime at, std::function<void()> what) {
    queue_.schedule(at, std::move(what));
  }

  void schedule_faults() {
    for (const Interruption& i : scenario_.interruptions) {
      schedule(i.at, [this, signal = i.signal] {
        signal == 0 ? tell(event::FrontGone{}) : tell(event::CancelSignal{signal});
      });
    }
    for (const Sign& sign : scenario_.signs) {
      schedule(sign.at, [this, sign] {
        sign.silence ? tell(event::Stall{attempt_, *sign.silence})
                     : tell(event::Progress{attempt_, sign.step});
      });
    }
    for (const MonotonicTime at : scenario_.hangs)
      schedule(at, [this] { tell(event::Hang{attempt_, 60s, "no progress"}); });
    for (const TakenAway& one : scenario_.notices)
      schedule(one.at, [this, one] {
        tell(event::Preempted{attempt_, one.node, "Spot", one.left});
      });
    for (std::uint32_t n = 0; n < scenario_.nodes.size(); ++n) {
      for (const Death& death : scenario_.nodes[n].deaths)
        schedule(death.at, [this, n, death] { die(n, death); });
    }
  }

  /// The launcher's loop: the next message, or a tick at (or slightly after) the deadline.
  bool take_step() {
    auto due = bug_.loses_deadlines ? std::nullopt : supervisor_.deadline();
    if (due) due = after(scenario_.pauses, *due);
    if (due && (queue_.empty() || *due < queue_.next())) {
      queue_.move_to(std::max(now(), *due) + dice_.time(0ns, scenario_.launcher_lag));
      tell(event::Tick{});
      return true;
    }
    if (queue_.empty()) {
      trace_.ran_out_of_events = true;
      return false;
    }
    queue_.run_next();
    return true;
  }

  void tell(const Event& event) {
    const MonotonicTime awake = after(scenario_.pauses, now());
    if (awake > now()) return schedule(awake, [this, event] { tell(event); });
    if (!bug_.hear) return record(event, supervisor_.on(event, now()));
    Event heard = event;
    bug_.hear(heard);
    record(event, supervisor_.on(heard, now()));
  }

  /// Unless something has changed when the launcher reads it.
  template <class Holds>
  void tell_if(Holds holds, const Event& event) {
    const MonotonicTime awake = after(scenario_.pauses, now());
    if (awake > now()) return schedule(awake, [this, holds, event] { tell_if(holds, event); });
    if (holds()) tell(event);
  }
  /// While the launcher has the connection to this agent.
  void tell_of(std::uint32_t node, std::uint32_t life, const Event& event) {
    tell_if([this, node, life] { return agents_[node].life == life; }, event);
  }

  void record(std::optional<Event> event, std::vector<Action> actions) {
    StepRecord step{now(), std::move(event), std::move(actions), supervisor_.deadline(),
                    supervisor_.done()};
    if (bug_.act) bug_.act(step);
    for (const Action& action : step.actions) {
      std::visit([this](const auto& a) { perform(a); }, action);
    }
    trace_.steps.push_back(std::move(step));
  }

  // ---- channels: in order per node and direction

  /// Of a message that is sent now; what was in transit in an outage is sent again after it.
  MonotonicTime arrival(std::uint32_t node) {
    const MonotonicTime mean = scenario_.nodes[node].latency;
    const MonotonicTime latency = dice_.time(mean / 2, mean * 3 / 2);
    MonotonicTime at = now() + latency;
    for (const Span& outage : scenario_.nodes[node].outages) {
      const bool is_hit = at >= outage.from && now() <= outage.to;
      if (is_hit) at = std::max(at, outage.to + latency);
    }
    return at;
  }

  void send(std::uint32_t node, Event event) {
    if (nodes_[node].dead) return;
    MonotonicTime& last = agents_[node].last_to_launcher;
    last = std::max(last, arrival(node));
    const int copies = dice_.chance(scenario_.duplicates) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      schedule(last,
               [this, node, life = agents_[node].life, event] { tell_of(node, life, event); });
    }
    if (dice_.chance(scenario_.strays)) send_stray(last, event);
  }

  void send_stray(MonotonicTime at, Event event) {
    std::visit(
        [](auto& e) {
          if constexpr (requires { e.attempt; }) e.attempt = kStray;
        },
        event);
    schedule(at - 1ns, [this, event] { tell(event); });
  }

  void command(std::uint32_t node, std::function<void()> what) {
    MonotonicTime& last = agents_[node].last_to_agent;
    last = std::max(last, arrival(node));
    schedule_on(node, last, [this, node, life = agents_[node].life, what = std::move(what)] {
      if (!nodes_[node].dead && agents_[node].life == life) what();
    });
  }

  // ---- the launcher

  void perform(const action::ConnectNode& a) {
    const std::uint32_t n = a.node.value;
    const NodeFate& fate = scenario_.nodes[n];
    trace_.joined_running =
        trace_.joined_running || (agents_[n].removed && now() < agents_[n].fenced);
    if (a.attempt.value > 0 || a.within) return connect_again(a);
    if (fate.connect == NodeFate::Connect::silent) return;
    const bool ok = fate.connect == NodeFate::Connect::answers;
    schedule(now() + fate.connect_takes, [this, n, ok, mine = agents_[n].tries] {
      if (agents_[n].tries != mine) return;
      ok ? send(n, event::NodeReady{NodeId{n}, Attempt{0}})
         : send(n, event::NodeLost{NodeId{n}, "refused"});
    });
  }
  void perform(const action::GatherFacts& a) {
    begin_next();
    agents_[a.node.value].removed = false;
    command(a.node.value, [this, a] { send(a.node.value, event::NodeReady{a.node, a.attempt}); });
  }
  void perform(const action::Restart& a) { next_ = a.next; }
  void perform(const action::MakePlan& a) {
    schedule(now(), [this, a] {
      if (scenario_.plan_fails) return tell(event::PlanFailed{Error{exit_code::kJobFile, "no"}});
      place_ranks();
      event::PlanMade made{a.attempt, node_of_, scenario_.decides};
      if (scenario_.mpirun) made.starter = {NodeId{0}, "mpirun"};
      tell(made);
    });
  }
  /// As drawn; with spares on the first nodes that have not left the set, as many as are wanted.
  void place_ranks() {
    node_of_.clear();
    for (Agent& agent : agents_) agent.ranks.clear();
    std::vector<NodeId> set;
    for (std::uint32_t n = 0; n < agents_.size(); ++n) {
      if (!agents_[n].removed && set.size() < scenario_.config.nodes_wanted) set.emplace_back(n);
    }
    const std::size_t ranks = scenario_.ranks.size();
    for (std::uint32_t r = 0; r < ranks; ++r) {
      node_of_.push_back(scenario_.has_spares() ? set[r * set.size() / ranks]
                                                : scenario_.ranks[r].node);
      agents_[node_of_[r].value].ranks.push_back(r);
    }
  }
  void perform(const action::StartRanks& a) {
    if (!trace_.ranks_began) trace_.ranks_began = now();
    for (const Agent& agent : agents_) trace_.overlap = trace_.overlap || now() < agent.fenced;
    command(a.node.value, [this, n = a.node.value] { start_ranks(n); });
  }
  void perform(const action::StopRanks& a) {
    command(a.node.value, [this, a] {
      if (a.attempt == attempt_) stop_ranks(a.node.value);
    });
  }
  void perform(const action::KillRanks& a) {
    command(a.node.value, [this, a] {
      if (a.attempt == attempt_) kill_ranks(a.node.value);
    });
  }
  void perform(const action::ReleaseNode& a) {
    if (!supervisor_.done()) let_go(a.node.value);
  }
  /// What its agent has said and the launcher has not read is never read. It can be connected anew.
  void let_go(std::uint32_t n) {
    ++agents_[n].tries;
    ++agents_[n].life;
    if (nodes_[n].dead) return;
    nodes_[n].dead = true;
    agents_[n].returns_at = now();
  }
  void perform(const action::RemoveNode& a) {
    Agent& agent = agents_[a.node.value];
    agent.removed = true;
    if (now() < agent.fenced || agent.running > 0) trace_.removed_running.push_back(a.node);
    let_go(a.node.value);
  }
  void perform(const action::Tell& a) {
    if (is_wait(a)) begin_next();
  }
  void perform(const action::Finish&) {}

  // ---- the agents

  void begin_next() {
    if (next_ != attempt_) begin_attempt(next_);
  }

  /// While the node is away, a try is refused, or hangs until its limit.
  void connect_again(const action::ConnectNode& a) {
    begin_next();
    const std::uint32_t n = a.node.value;
    const MonotonicTime within = a.within.value_or(scenario_.config.connect_limit);
    const MonotonicTime takes = scenario_.nodes[n].connect_takes;
    Agent& agent = agents_[n];
    const bool back = agent.returns_at && now() >= *agent.returns_at;
    const bool is_let_in = back && takes < within;
    const MonotonicTime refused_after =
        is_let_in || dice_.chance(0.5) ? std::min(takes, within) : within;
    // A try ends the one before it, which then says nothing.
    schedule(now() + refused_after, [this, a, is_let_in, mine = ++agent.tries] {
      const auto is_last = [this, n = a.node.value, mine] { return agents_[n].tries == mine; };
      if (!is_last()) return;
      is_let_in ? connected_again(a) : tell_if(is_last, event::NodeLost{a.node, "refused"});
    });
  }

  void connected_again(const action::ConnectNode& a) {
    const std::uint32_t n = a.node.value;
    if (!agents_[n].returns_at || now() < *agents_[n].returns_at)  // it has died meanwhile
      return tell(event::NodeLost{a.node, "reset"});
    Agent fresh;
    fresh.ranks = agents_[n].ranks;
    fresh.tries = agents_[n].tries;
    fresh.removed = agents_[n].removed;  // meanwhile
    fresh.fenced = agents_[n].fenced;    // the old agent is beside it
    fresh.life = agents_[n].life + 1;
    fresh.last_to_launcher = agents_[n].last_to_launcher;
    fresh.last_to_agent = agents_[n].last_to_agent;
    fresh.last_time = agents_[n].last_time;
    const bool answers_not = agents_[n].answers_not;
    agents_[n] = fresh;
    nodes_[n].dead = false;
    if (answers_not) return fall_silent(n);
    send(n, event::NodeReady{a.node, a.attempt});
  }

  /// It hangs while it gathers its facts. The next try finds it well.
  void fall_silent(std::uint32_t n) {
    nodes_[n].dead = true;
    agents_[n].returns_at = now();
  }

  /// Facts are requested after every node was empty: nothing of the last attempt may be alive.
  void begin_attempt(Attempt attempt) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const std::uint32_t n = node_of_[r].value;
      const bool alive = ranks_[r].started && !ranks_[r].ended && !ranks_[r].lost;
      if (alive && !nodes_[n].dead) trace_.overlap = true;
    }
    if (attempt.value > 0) {
      truth_.push_back(ranks_);
      placed_.push_back(node_of_);
    }
    attempt_ = attempt;
    mpirun_ = Mpirun();
    ranks_.assign(scenario_.ranks.size(), {});
    for (Agent& agent : agents_) {
      agent.told_to_stop = agent.start_failed = agent.started = agent.emptying = false;
    }
  }
  const RankFate& fate_of(std::uint32_t r) const { return scenario_.ranks_of(attempt_)[r]; }
  /// On a node that may be frozen then, and goes on with it afterwards.
  void schedule_on(std::uint32_t n, MonotonicTime at, std::function<void()> what) {
    schedule(at, [this, n, what = std::move(what)] {
      const MonotonicTime thawed = after(scenario_.nodes[n].freezes, now());
      thawed > now() ? schedule_on(n, thawed, what) : what();
    });
  }
  /// For what is planned in an attempt and comes after its end.
  template <class What>
  void schedule_in_attempt(std::uint32_t n, MonotonicTime at, What what) {
    schedule_on(n, at, [this, attempt = attempt_, what] {
      if (attempt == attempt_) what();
    });
  }

  /// On the launcher's clock, as far as the node's is known. Times of a node keep their order.
  WallTime clock_of(std::uint32_t node) {
    WallTime at = wall(now()) + scenario_.nodes[node].clock_offset;
    for (const ClockStep& step : scenario_.nodes[node].clock_steps)
      if (now() >= step.at && now() < step.at + kClockUnknown) at += step.by;
    agents_[node].last_time = std::max(agents_[node].last_time, at);
    return agents_[node].last_time;
  }

  // What happens to the ranks of a node (agents.cc)
  void start_ranks(std::uint32_t n);
  void start_rank(std::uint32_t n, std::uint32_t r);
  void end_rank(std::uint32_t n, std::uint32_t r, ExitStatus status);
  void start_mpirun();
  void end_mpirun_after(MonotonicTime time, ExitStatus status, bool told);
  void end_mpirun(const ExitStatus& status, bool told);
  void terminate_mpirun(std::uint32_t n);
  [[nodiscard]] bool have_begun(std::uint32_t n) const;
  void leave_ranks();
  void leave_rank(std::uint32_t r);
  void stop_ranks(std::uint32_t n);
  void kill_ranks(std::uint32_t n);
  void consider_empty(std::uint32_t n);
  void die(std::uint32_t n, const Death& death);

  const Scenario& scenario_;
  Bug bug_;
  Dice dice_;
  Supervisor supervisor_;
  Trace trace_;
  std::vector<Agent> agents_;
  std::vector<NodeId> node_of_;  // index = Rank, in the attempt
  EventQueue queue_;
  Attempt attempt_;
  Mpirun mpirun_;
  Attempt next_;  // begins when something is asked for it
  std::vector<RankTruth> ranks_;
  std::vector<std::vector<RankTruth>> truth_;
  std::vector<std::vector<NodeId>> placed_;
  std::vector<NodeTruth> nodes_;
};

}  // namespace dlaunch::sim
