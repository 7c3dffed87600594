// The part of RankService that signals, stops and kills ranks on the launcher's request.
#include <algorithm>
#include <csignal>

#include "node/ranks/rank_service.h"
#include "node/ranks/running_rank.h"
#include "os/job_tree.h"

namespace dlaunch {

namespace {

/// An empty list means all ranks.
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
  reap();  // a rank that ended before the signal has ended by itself
  if (!active_) return;
  request.ranks.empty() ? start_no_more() : start_none_of(request.ranks);
  for (auto& [pid, rank] : running_) {
    if (rank->exited || !is_meant(request.ranks, rank->rank)) continue;
    rank->signalled = true;
    signal_rank(*rank, request.signal);
  }
  // If no rank of this node is left, the request is for mpirun.
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
    // The signal is meant for the command; dlaunch's own shell would die of it.
    const bool is_shell = rank->argv != nullptr && runs_command(rank->leader, *rank->argv);
    if (!is_shell) {
      ::kill(rank->leader, request.signal);
      continue;
    }
    for (const pid_t child : children_of(rank->leader)) ::kill(child, request.signal);
  }
}

std::vector<RankProcess> RankService::processes(const wire::TakeStacks& request) const {
  std::vector<RankProcess> found;
  for (const Rank rank : request.ranks) found.push_back({rank, 0});
  if (request.attempt != attempt_) return found;
  for (const RankProcess& running : this->running()) {
    for (RankProcess& one : found) {
      if (one.rank == running.rank) one.pid = running.pid;
    }
  }
  return found;
}

std::vector<RankProcess> RankService::running() const {
  std::vector<RankProcess> found;
  if (!active_ || ending_) return found;
  for (const auto& [pid, running] : running_) {
    if (running->exited) continue;
    // In a container, the program is a descendant of the engine's monitor, which is not our child.
    found.push_back({running->rank, running->contained ? running->outer_pid : pid});
  }
  return found;
}

tl::expected<RankPlace, std::string> RankService::place_of(
    const wire::OpenTerminal& request) const {
  const std::string who = "rank " + std::to_string(request.rank.value);
  if (!active_ || ending_ || request.attempt != attempt_)
    return tl::unexpected(std::string("the attempt has ended"));
  const auto found = std::find_if(running_.begin(), running_.end(), [&](const auto& one) {
    return one.second->rank == request.rank;
  });
  if (found == running_.end()) return tl::unexpected(who + " has not started yet");
  const RunningRank& running = *found->second;
  if (running.exited) return tl::unexpected(who + " has ended");
  if (running.contained) {
    if (!running.contained->inside) return tl::unexpected(who + " has not started yet");
    RankPlace place;
    place.container = request.rank;
    return place;
  }
  const wire::StartRanks& batch = running.batch->request;
  const auto rank =
      std::find_if(batch.ranks.begin(), batch.ranks.end(),
                   [&](const wire::StartRank& one) { return one.rank == request.rank; });
  RankPlace place{process_of_rank(running.leader, running.argv),
                  running.batch->base.variables(),
                  batch.workdir,
                  rank->cpus,
                  open_files_,
                  enclosure_.cgroup_fd(),
                  {}};
  for (const auto& [name, value] : rank->env) place.variables.insert_or_assign(name, value);
  return place;
}

void RankService::signal_rank(RunningRank& rank, int signal) {
  // Until the program runs, only the runtime can be signalled.
  if (rank.contained && containers_.signal(rank.rank, signal)) return;
  if (rank.contained) {
    containers_.refuse(rank.rank);
    signal = SIGTERM;
  }
  // Children first: if the shell dies of the signal, they can no longer be found.
  if (rank.argv != nullptr && runs_command(rank.leader, *rank.argv)) {
    for (const pid_t child : children_of(rank.leader)) {
      watch_companion(rank, child);
      ::kill(child, signal);
      ::kill(child, SIGCONT);
    }
  }
  ::kill(rank.leader, signal);
  ::kill(rank.leader, SIGCONT);  // a stopped process handles no other signal
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
    // Orphans of single ranks stay until the attempt ends: their rank is unknown.
    if (!request.ranks.empty() && !(rank->contained && containers_.kill(rank->rank)))
      kill_tree(pid);
  }
  if (request.ranks.empty()) {
    beside_.merge(terminals_.end_all("the run is being ended"));
    mpirun_.expect_end();
    containers_.kill_all();
    kill_round();
  }
  end_attempt_if_over();
}

/// The end of this rank ends the job, so the rank must end even if a shell around it goes on.
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
