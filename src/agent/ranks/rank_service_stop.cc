// How ranks are signalled, stopped and killed on the launcher's word.
#include <algorithm>
#include <csignal>

#include "agent/ranks/rank_service.h"
#include "agent/ranks/running_rank.h"
#include "os/leader.h"

namespace dlaunch {

namespace {

/// Of a list that is empty when all ranks are meant.
bool is_meant(const std::vector<Rank>& ranks, Rank rank) {
  return ranks.empty() || std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace

void RankService::start_none_of(const std::vector<Rank>& ranks) {
  std::erase_if(pending_, [&](const Pending& pending) {
    return is_meant(ranks, pending.batch->request.ranks[pending.index].rank);
  });
}

void RankService::stop(const wire::StopRanks& request) {
  if (!active_ || request.attempt != attempt_) return;
  reap();  // who has ended before the signal did so by itself
  if (!active_) return;
  request.ranks.empty() ? start_no_more() : start_none_of(request.ranks);
  for (auto& [pid, rank] : running_) {
    if (rank->exited || !is_meant(request.ranks, rank->rank)) continue;
    rank->signalled = true;
    signal_rank(*rank, request.signal);
  }
  // Asked for when no rank is left anywhere, or has come: mpirun is what is to be stopped then.
  if (request.ranks.empty() && alive_ == 0) mpirun_.terminate();
  end_attempt_if_over();
}

void RankService::pass(const wire::SignalRanks& request) {
  if (!active_ || request.attempt != attempt_) return;
  for (const auto& [pid, rank] : running_) {
    if (rank->exited) continue;
    if (rank->contained) {
      (void)containers_.pass(rank->rank, request.signal);
      continue;
    }
    // Our own shell would end of a signal that its command waits for.
    const bool is_shell = rank->argv != nullptr && runs_command(rank->leader, *rank->argv);
    if (!is_shell) {
      ::kill(rank->leader, request.signal);
      continue;
    }
    for (const pid_t child : children_of(rank->leader)) ::kill(child, request.signal);
  }
}

void RankService::signal_rank(RunningRank& rank, int signal) {
  // Before it runs there is only the runtime to be told.
  if (rank.contained && containers_.signal(rank.rank, signal)) return;
  if (rank.contained) {
    containers_.refuse(rank.rank);
    signal = SIGTERM;
  }
  // Children first: a shell that dies of the signal would leave them to be found nowhere.
  if (rank.argv != nullptr && runs_command(rank.leader, *rank.argv)) {
    for (const pid_t child : children_of(rank.leader)) {
      watch_companion(rank, child);
      ::kill(child, signal);
      ::kill(child, SIGCONT);
    }
  }
  ::kill(rank.leader, signal);
  ::kill(rank.leader, SIGCONT);  // a stopped process takes no other signal
}

void RankService::watch_companion(RunningRank& rank, pid_t companion) {
  if (rank.companions.contains(companion)) return;
  UniqueFd pidfd(open_pidfd(companion));
  if (!pidfd) return;
  auto watched = std::make_unique<WatchedFd>(loop_, std::move(pidfd));
  watched->on_readable([this, &rank, companion] {
    rank.companions.erase(companion);
    if (rank.over() && !rank.counted_over) {
      rank.counted_over = true;
      rank_is_over();
    }
  });
  rank.companions.emplace(companion, std::move(watched));
}

void RankService::kill(const wire::KillRanks& request) {
  if (!active_ || request.attempt != attempt_) return;
  reap();
  if (!active_) return;
  request.ranks.empty() ? start_no_more() : start_none_of(request.ranks);
  for (auto& [pid, rank] : running_) {
    if (rank->exited || !is_meant(request.ranks, rank->rank)) continue;
    rank->signalled = true;
    // Orphans of single ranks stay until the attempt ends: nobody can tell whose they were.
    if (!request.ranks.empty() && !(rank->contained && containers_.kill(rank->rank)))
      kill_tree(pid);
  }
  if (request.ranks.empty()) {
    mpirun_.expect_end();
    containers_.kill_all();
    kill_round();
  }
  end_attempt_if_over();
}

/// The job ends by its end, so it must come, whatever a shell around it does next.
void RankService::end_aborted(Rank rank, std::chrono::milliseconds grace) {
  for (auto& [pid, running] : running_) {
    if (running->rank != rank || running->exited) continue;
    running->abort_grace = std::make_unique<Timer>(loop_);
    running->abort_grace->after(grace, [this, &running = *running] {
      if (running.exited) return;
      if (!running.contained || !containers_.kill(running.rank)) kill_tree(running.leader);
    });
  }
}

}  // namespace dlaunch
