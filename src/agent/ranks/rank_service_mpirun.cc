// Ranks of an attempt that another launcher, mpirun, starts: each waits for `dlaunch exec --join`
// (join_point.h) and is then started as any other.
#include <utility>

#include "agent/ranks/rank_service.h"
#include "agent/ranks/running_rank.h"
#include "os/clock.h"
#include "os/leader.h"

namespace dlaunch {

void RankService::await(const std::shared_ptr<RankBatch>& batch) {
  const std::string& folder = batch->request.join_folder;
  const auto opened = mpirun_.begin(attempt_, folder, batch->request.are_mpi, batch->request.world);
  if (!opened) {
    not_started(batch->request.ranks.front(), opened.error());
    return end_attempt_if_over();
  }
  if (!joint_batch_) joint_batch_ = batch;
  const auto& ranks = batch->request.ranks;
  for (std::size_t i = 0; i < ranks.size(); ++i) awaited_[ranks[i].rank] = {batch, i};
  if (all_known_) channel_.send(wire::RanksAwaited{attempt_});
}

void RankService::start_mpirun(const wire::StartMpirun& request) {
  if (!active_ || closed_ || request.attempt != attempt_ || !joint_batch_) return;
  const wire::StartRanks& ranks = joint_batch_->request;
  const EnvironmentBase base(carried_environment(environment_from_block(environ), ranks.carried,
                                                 ranks.workdir, folder_exists),
                             ranks.scrub, {}, request.env);
  mpirun_.start({request.argv,
                 base.variables(),
                 ranks.workdir,
                 enclosure_.cgroup_fd(),
                 {open_files_.soft, open_files_.hard}});
}

std::string RankService::start_joined(const Joining& joining, UniqueFd pmi) {
  const auto found = awaited_.find(joining.rank);
  if (closed_) return "the attempt is about to end";
  const std::uint32_t world = joint_batch_ ? joint_batch_->request.world : 0;
  if (std::string why = other_world(joining, world); world != 0 && !why.empty()) return why;
  if (found == awaited_.end()) {
    return "it is none that dlaunch has planned for this node, or it is here already; the hosts "
           "and the mapping must be those of the plan";
  }
  const Pending next = found->second;
  awaited_.erase(found);
  const wire::StartRank& rank = next.batch->request.ranks[next.index];
  Place place{joining.variables, joining.cpus, {}};
  place.pmi = mpirun_.pass(joining.rank, std::move(pmi), place.variables);
  auto pid = start_one(next.batch, rank, &place);
  if (pid) {
    channel_.send(wire::RanksStarted{attempt_, {{rank.rank, *pid, wall_now()}}});
  } else {
    not_started(rank, std::move(pid.error()));
    end_attempt_if_over();
  }
  return {};
}

/// mpirun ends them all when one has called MPI_Abort, or when it fails itself: how they end then
/// is its doing, and its own end says why.
void RankService::mpirun_left(Rank rank) {
  for (auto& [pid, running] : running_) {
    if (running->rank == rank && !running->exited) running->left = true;
  }
}

void RankService::mpirun_gave_up(Rank rank) {
  for (auto& [pid, running] : running_) {
    // What was told to end has the grace that the job gives it.
    if (running->rank != rank || running->exited || running->signalled) continue;
    running->left = false;  // mpirun goes on, so this is a failure
    channel_.send(
        wire::Notice{"rank " + std::to_string(rank.value) +
                     ": mpirun has ended what it had started for it; the rank is killed"});
    kill_tree(pid);
  }
}

}  // namespace dlaunch
