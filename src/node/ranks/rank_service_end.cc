// The part of RankService that sees ranks end, and ends the attempt with the last of them.
#include <algorithm>
#include <csignal>
#include <iterator>

#include <unistd.h>

#include "fabric/gpu_health_report.h"
#include "node/ranks/rank_service.h"
#include "node/ranks/running_rank.h"
#include "os/clock.h"
#include "os/job_tree.h"
#include "os/signals.h"
#include "os/stuck.h"

namespace dlaunch {

namespace {

// Longest pause between rounds that find the same processes again.
constexpr std::chrono::milliseconds kLongestKillRound{1280};
constexpr std::chrono::seconds kEngineGrace{2};

/// Whether the process died of SIGKILL, or was a shell whose last command did.
bool died_of_sigkill(const ExitStatus& status) {
  return status.code() == exit_code::kSignalBase + SIGKILL;
}

}  // namespace

void RankService::wait_for_children() {
  child_signals_->on_readable([this] {
    reap();
    wait_for_children();
  });
}

void RankService::reap() {
  while (read_signal(child_signals_->get()) != 0) {
  }
  // The same time for all children of this pass: the order of their ends is unknown.
  const WallTime now = wall_now();
  looked_for_taken_ = false;
  // mpirun first: ranks may end because it has.
  if (mpirun_.reap(now)) loop_.post([this] { end_attempt_if_over(); });
  const ReapPass pass = reap_some([&](const Reaped& reaped) {
    // mpirun may have ended since the check above.
    if (mpirun_.was_reaped(reaped.pid, reaped.status, now)) {
      loop_.post([this] { end_attempt_if_over(); });
    } else if (!containers_.was_reaped(reaped.pid) && !terminals_.was_reaped(reaped) &&
               !preemption_.was_reaped(reaped)) {
      on_ended(reaped, now);
    }
  });
  if (pass.more) return reap_rest_later();
  if (!ending_ || containers_.needs_clearing()) return;
  if (pass.none_left || only_templates_left())
    checkpoints_.when_told([this] { attempt_is_empty(); });
}

void RankService::reap_rest_later() {
  if (reaps_later_) return;
  reaps_later_ = true;
  loop_.post([this] {
    reaps_later_ = false;
    reap();
  });
}

bool RankService::only_templates_left() const {
  const std::set<pid_t> templates = preload_.templates();
  if (templates.empty()) return false;
  const std::vector<pid_t> children = children_of(::getpid());
  return std::all_of(children.begin(), children.end(),
                     [&](pid_t child) { return templates.contains(child); });
}

void RankService::on_ended(const Reaped& reaped, WallTime now) {
  const auto found = running_.find(reaped.pid);
  if (found == running_.end()) return;  // an adopted orphan
  RunningRank& rank = *found->second;
  if (rank.contained) return runtime_ended(rank, reaped.status, now);
  if (rank.exited) return;
  mpirun_.catch_up();
  tell_end(rank, reaped.status, now);
  count_if_over(rank);
}

void RankService::tell_end(RunningRank& rank, ExitStatus status, WallTime now) {
  rank.exited = true;
  if (rank.wants_stdin) stdin_.close();
  if (!rank.signalled) mpi_.judge(rank.rank, status);
  if (!rank.signalled) mpirun_.judge(rank.rank, status);
  if (!status.ok() && !rank.signalled) {
    tell_if_port_is_taken();
    status.gpu_fault = fault_of_gpus();
  }
  if (!rank.signalled && died_of_sigkill(status)) {
    status.out_of_memory = oom_->evidence(rank.outer_pid);
    status.oom_ruled_out = status.out_of_memory.empty() && oom_->can_tell();
  }
  mpirun_.rank_ended(rank.rank, status);
  const bool not_by_itself = rank.signalled || rank.left;
  channel_.send(wire::RankExited{attempt_, rank.rank, std::move(status), now, not_by_itself});
}

void RankService::count_if_over(RunningRank& rank) {
  if (!rank.over() || rank.counted_over) return;
  rank.counted_over = true;
  rank_is_over();
}

void RankService::tell_if_port_is_taken() {
  if (looked_for_taken_) return;
  looked_for_taken_ = true;
  auto taken = released_.find_taken(monotonic_now());
  if (taken) channel_.send(wire::PortTaken{attempt_, taken->rank, std::move(taken->port)});
}

/// A failed program may not know that its GPU is broken.
const std::string& RankService::fault_of_gpus() {
  for (const XidEvent& fault : fabric::parse_xids(oom_->driver_faults())) {
    const std::string text = fabric::describe(fault);
    channel_.send(wire::Notice{"the GPU driver reports " + text});
    if (gpu_fault_.empty() && fabric::is_fault_of_hardware(fault.number)) gpu_fault_ = text;
  }
  return gpu_fault_;
}

void RankService::rank_is_over() {
  --alive_;
  if (alive_ == 0 && mpirun_is_to_end_) mpirun_.terminate();
  end_attempt_if_over();
}

void RankService::end_attempt_if_over() {
  if (!active_ || ending_ || !all_known_ || !pending_.empty() || alive_ > 0) return;
  if (!awaited_.empty() || mpirun_.running()) return;
  ending_ = true;
  preload_.end_attempt();
  lookers_ = stacks_.abandon();
  lookers_.merge(watch_.end());
  beside_.merge(terminals_.end_all("the attempt has ended"));
  beside_.merge(preemption_.end());
  checkpoints_.end();
  raise_open_file_limit();
  // Posted for later, because the caller may be iterating over the ranks.
  loop_.post([this] {
    if (!containers_.needs_clearing()) return finish_attempt();
    kill_timer_.cancel();
    containers_.clear([this] { finish_attempt(); });
  });
}

void RankService::finish_attempt() {
  reap();
  mpi_.finish([this] {
    reap();
    if (!active_) return;
    // A container engine's monitors end by themselves when they notice the containers' end.
    if (!was_contained_) return kill_round();
    kill_timer_.after(kEngineGrace, [this] {
      if (active_) kill_round();
    });
  });
}

void RankService::kill_round() {
  if (containers_.is_clearing()) return;  // clearing kills too, and another round follows it
  mpi_.expect_end();
  std::set<pid_t> spared = lookers_;
  if (const auto server = mpi_.process()) spared.insert(*server);
  spared.merge(preload_.templates());
  if (const auto looking = checkpoints_.pid()) spared.insert(*looking);
  beside_.insert(checkpoints_.pids().begin(), checkpoints_.pids().end());
  const std::vector<pid_t> killed = enclosure_.kill_once(spared);
  if (ending_) {
    std::copy_if(killed.begin(), killed.end(), std::inserter(leftovers_, leftovers_.end()),
                 [&](pid_t pid) {
                   // A process that a command beside the ranks forked while it was killed is in the
                   // command's session; a fork that waits to become a rank is in its template's
                   // process group.
                   return !beside_.contains(pid) && !beside_.contains(::getsid(pid)) &&
                          !spared.contains(::getpgid(pid));
                 });
  }
  const bool new_ones = std::any_of(killed.begin(), killed.end(),
                                    [this](pid_t pid) { return !killed_before_.contains(pid); });
  killed_before_ = {killed.begin(), killed.end()};
  kill_pause_ = new_ones ? kKillRound : std::min(2 * kill_pause_, kLongestKillRound);
  if (kill_pause_ == kLongestKillRound) tell_stuck(killed);
  // Their ends arrive as SIGCHLD; further rounds kill what was forked during this one.
  kill_timer_.after(kill_pause_, [this] {
    if (active_) kill_round();
  });
}

/// Reports once, while the launcher waits for them, processes that do not end after SIGKILL.
void RankService::tell_stuck(const std::vector<pid_t>& killed) {
  if (told_stuck_) return;
  const std::vector<StuckProcess> stuck = find_stuck(killed);
  if (stuck.empty()) return;
  told_stuck_ = true;
  std::string ranks;
  for (const StuckProcess& process : stuck) {
    const auto found = running_.find(process.pid);
    if (found == running_.end()) continue;
    ranks += (ranks.empty() ? "rank " : ", rank ") + std::to_string(found->second->rank.value);
  }
  channel_.send(wire::Notice{"SIGKILL does not end " + (ranks.empty() ? "" : ranks + ": ") +
                             describe(stuck)});
}

void RankService::attempt_is_empty() {
  active_ = ending_ = false;
  raise_open_file_limit(kSpareDescriptors);
  closed_ = true;
  kill_timer_.cancel();
  pump_.drain();
  stdin_.close();
  mpirun_.end();
  containers_.end();
  was_contained_ = false;
  untried_.clear();
  facts_.unlock_cores();
  facts_.release_all_ports();
  channel_.send(wire::AttemptEnded{attempt_, static_cast<std::uint32_t>(leftovers_.size())});
}

}  // namespace dlaunch
