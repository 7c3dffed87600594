// What happens to the ranks of a simulated node: its agent starts, stops and kills them, mpirun may
// start them in its place, and all of it may die.
#include <csignal>

#include "cluster_state.h"

namespace dlaunch::sim {

void Cluster::start_ranks(std::uint32_t n) {
  Agent& agent = agents_[n];
  agent.started = true;
  if (scenario_.mpirun && n == 0) start_mpirun();
  MonotonicTime at = now();
  for (const std::uint32_t rank : agent.ranks) {
    schedule_in_attempt(n, at, [this, n, rank] { start_rank(n, rank); });
    at += 100us;  // a fork and an exec
  }
  schedule_in_attempt(n, at, [this, n] { consider_empty(n); });
}

void Cluster::start_rank(std::uint32_t n, std::uint32_t r) {
  Agent& agent = agents_[n];
  if (nodes_[n].dead || agent.told_to_stop || agent.start_failed) return;
  const RankFate& fate = fate_of(r);
  RankTruth& truth = ranks_[r];
  if (scenario_.mpirun && (fate.never_begins || mpirun_.is_gone)) return;
  if (fate.cannot_start) {
    agent.start_failed = true;
    truth = {false, true, true, now(), {}, true};
    truth.start_code = fate.start_failure.code();
    send(n, event::RankNotStarted{attempt_, Rank{r}, fate.start_failure, clock_of(n),
                                  scenario_.nodes[n].clock_error});
    return;
  }
  truth.started = true;
  ++agent.running;
  send(n, event::RankStarted{attempt_, Rank{r}, static_cast<std::int32_t>(r + 100), clock_of(n)});
  if (fate.runs_for == MonotonicTime::max()) return;
  schedule_in_attempt(n, now() + fate.runs_for,
                      [this, n, r] { end_rank(n, r, fate_of(r).status); });
}

void Cluster::end_rank(std::uint32_t n, std::uint32_t r, ExitStatus status) {
  RankTruth& truth = ranks_[r];
  if (nodes_[n].dead || truth.ended) return;
  truth.ended = true;
  truth.own = !agents_[n].told_to_stop && !truth.left;
  truth.ended_at = now();
  truth.status = status;
  --agents_[n].running;
  if (truth.own && !status.ok() && fate_of(r).port_taken)
    send(n, event::PortTaken{attempt_, Rank{r}, {20001, "pid 1"}});
  send(n, event::RankExited{attempt_, Rank{r}, status, clock_of(n), !truth.own,
                            scenario_.nodes[n].clock_error});
  if (agents_[n].told_to_stop && agents_[n].running == 0 && !have_begun(n)) terminate_mpirun(n);
  if (scenario_.mpirun && std::all_of(ranks_.begin(), ranks_.end(), [](const RankTruth& one) {
        return one.ended && !one.start_failed && one.status.ok();
      }))
    end_mpirun_after(scenario_.mpirun->end_takes, {}, false);
  consider_empty(n);
}

// ---- mpirun, on node 0

void Cluster::start_mpirun() {
  mpirun_.runs = true;
  const MpirunFate& fate = *scenario_.mpirun;
  if (fate.dies_at != MonotonicTime::max() && scenario_.mpirun_may_die_in(attempt_))
    end_mpirun_after(fate.dies_at, fate.status, false);
}

void Cluster::end_mpirun_after(MonotonicTime time, ExitStatus status, bool told) {
  schedule_in_attempt(0, now() + time, [this, status, told] { end_mpirun(status, told); });
}

void Cluster::end_mpirun(const ExitStatus& status, bool told) {
  if (!std::exchange(mpirun_.runs, false) || nodes_[0].dead) return;
  send(0, event::StarterEnded{attempt_, NodeId{0}, status, clock_of(0), told, "its words",
                              scenario_.nodes[0].clock_error});
  leave_ranks();
  consider_empty(0);
}

/// A stop when no rank of the node is left is meant for mpirun.
void Cluster::terminate_mpirun(std::uint32_t n) {
  if (n != 0 || !mpirun_.runs || scenario_.mpirun->ignores_stop) return;
  end_mpirun_after(scenario_.mpirun->end_takes, {false, 1, false}, true);
}

bool Cluster::have_begun(std::uint32_t n) const {
  return std::all_of(agents_[n].ranks.begin(), agents_[n].ranks.end(),
                     [this](auto r) { return ranks_[r].started; });
}

/// What mpirun started for the ranks ends with it, on every node.
void Cluster::leave_ranks() {
  mpirun_.is_gone = true;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    if (!ranks_[r].started || ranks_[r].ended) continue;
    schedule_in_attempt(node_of_[r].value, now() + dice_.time(0ns, 1ms),
                        [this, r] { leave_rank(r); });
  }
}

void Cluster::leave_rank(std::uint32_t r) {
  const std::uint32_t n = node_of_[r].value;
  if (nodes_[n].dead || agents_[n].told_to_stop || ranks_[r].ended) return;
  ranks_[r].left = true;
  if (!fate_of(r).outlives_mpirun) {
    return schedule_in_attempt(n, now() + fate_of(r).left_takes,
                               [this, n, r] { end_rank(n, r, fate_of(r).left_status); });
  }
  schedule_in_attempt(n, now() + kGivenUp, [this, n, r] {
    if (agents_[n].told_to_stop || ranks_[r].ended) return;
    ranks_[r].left = false;
    end_rank(n, r, {true, SIGKILL, false});
  });
}

void Cluster::stop_ranks(std::uint32_t n) {
  agents_[n].told_to_stop = true;
  for (const std::uint32_t r : agents_[n].ranks) {
    const RankFate& fate = fate_of(r);
    if (!ranks_[r].started || ranks_[r].ended || fate.ignores_stop) continue;
    schedule_in_attempt(n, now() + fate.stop_takes,
                        [this, n, r] { end_rank(n, r, fate_of(r).stop_status); });
  }
  if (agents_[n].running == 0) terminate_mpirun(n);
  consider_empty(n);
}

void Cluster::kill_ranks(std::uint32_t n) {
  agents_[n].told_to_stop = true;
  for (const std::uint32_t r : agents_[n].ranks) {
    if (ranks_[r].started && !ranks_[r].ended) end_rank(n, r, {true, SIGKILL, false});
  }
  if (n == 0) end_mpirun({true, SIGKILL, false}, true);
  consider_empty(n);
}

/// All ranks have ended, and none will be started: the leftovers are killed, then NodeEmpty.
void Cluster::consider_empty(std::uint32_t n) {
  Agent& agent = agents_[n];
  if (!agent.started || agent.running > 0 || agent.emptying || scenario_.nodes[n].never_empties)
    return;
  if (n == 0 && mpirun_.runs) return;
  const bool none_to_come = agent.told_to_stop || agent.start_failed ||
                            std::all_of(agent.ranks.begin(), agent.ranks.end(),
                                        [this](auto r) { return ranks_[r].ended; });
  if (!none_to_come) return;
  agent.emptying = true;
  schedule_on(n, now() + scenario_.nodes[n].emptying_takes,
              [this, n, attempt = attempt_, life = agent.life] {
                if (nodes_[n].dead || agents_[n].life != life) return;
                nodes_[n].leftovers = scenario_.nodes[n].leftovers;
                send(n, event::NodeEmpty{attempt, NodeId{n}, scenario_.nodes[n].leftovers});
              });
}

void Cluster::die(std::uint32_t n, const Death& death) {
  Agent& agent = agents_[n];
  const bool was_dead = nodes_[n].dead;
  nodes_[n].dead = true;
  // A node that is away already may be hit again on its way back.
  if (was_dead && !agent.returns_at) return;
  agent.returns_at.reset();
  if (death.returns_after) agent.returns_at = now() + *death.returns_after;
  agent.answers_not = death.answers_not;
  if (was_dead) return;
  for (const std::uint32_t r : agent.ranks) {
    RankTruth& rank = ranks_[r];
    rank.lost = rank.started && !rank.ended;
    if (death.cut && rank.lost) agent.fenced = now() + kFence;
  }
  agent.running = 0;
  if (n == 0 && std::exchange(mpirun_.runs, false)) leave_ranks();
  const MonotonicTime seen = std::max(agent.last_to_launcher, now() + death.seen_after);
  event::NodeLost lost{NodeId{n}, "died"};
  if (death.cut)
    lost.may_run_for = std::chrono::ceil<Duration>(std::max(now() + kFence - seen, 0ns));
  // Unless it was removed and connected anew meanwhile: the old connection says nothing more.
  schedule(seen, [this, lost, life = agent.life] { tell_of(lost.node.value, life, lost); });
}

}  // namespace dlaunch::sim
