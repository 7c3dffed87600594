// Attempts whose ranks another launcher, mpirun, starts.
#include <utility>

#include "supervise/supervisor.h"
#include "supervise/wording.h"

namespace dlaunch {

/// A rank that fails is stopped for by us, with the grace of the job, and mpirun hears nothing of
/// it. So it waits for ranks that have failed, until it is told to end.
void Supervisor::attend_to_mpirun() {
  if (!attempt_.mpirun_on) return;
  if (attempt_.progress.begun() == attempt_.progress.ranks()) attempt_.begun_due.reset();
  const NodeIndex node = *attempt_.mpirun_on;
  if (attempt_.progress.running() > 0 || !attempt_.progress.is_open(node)) return;
  if (!std::exchange(attempt_.mpirun_is_alone, true))
    attempt_.to_empty.add({after(config_.end_limit), node});
  if (!attempt_.verdict || attempt_.mpirun_end || attempt_.mpirun_is_stopped) return;
  attempt_.mpirun_is_stopped = true;
  ask(action::StopRanks{attempt_.number, node, config_.stop_signal});
}

void Supervisor::handle(const event::MpirunEnded& e) {
  if (!has_ranks_now(e.attempt) || attempt_.mpirun_on != e.node || attempt_.mpirun_end) return;
  attempt_.mpirun_end = e;
  if (e.after_signal) return;
  // Word of ranks that other nodes have started may still be on its way.
  if (e.status.ok() && attempt_.begun_due) {
    attempt_.begun_due = after(config_.end_limit);
  } else if (!e.status.ok()) {
    halt(verdict_mpirun(
        wording::mpirun_ended(wording::node(config_.node_names, e.node), describe(e.status)),
        e.said, e.status.code()));
  }
}

void Supervisor::judge_missing_ranks() {
  attempt_.begun_due.reset();
  const auto& end = attempt_.mpirun_end;
  halt(verdict_mpirun(wording::mpirun_started_too_few(
                          wording::node(config_.node_names, *attempt_.mpirun_on),
                          attempt_.progress.begun(), attempt_.progress.ranks(),
                          end ? std::nullopt : std::optional<Duration>(2 * config_.connect_limit)),
                      end ? end->said : "", end ? exit_code::kPreflight : exit_code::kTimeLimit));
}

/// A rank that has failed by itself says more than the end of mpirun, which follows from it; but of
/// an mpirun that was killed, all ends of ranks that are later may follow.
Verdict Supervisor::final_verdict() const {
  const Verdict& verdict = *attempt_.verdict;
  const auto& end = attempt_.mpirun_end;
  const auto first = attempt_.failures.first();
  if (!end || end->after_signal || end->status.ok() || !first) return verdict;
  const bool is_by_mpirun = !verdict.by_rank && verdict.cause == Cause::mpirun;
  if (is_by_mpirun && !end->status.signaled) return verdict_rank_failed();
  if (!verdict.by_rank || !end->status.signaled) return verdict;
  const auto failed = attempt_.progress.ends()[first->rank.value].ended;
  if (!failed || *failed + end->clock_error < end->at - end->clock_error) return verdict;
  return verdict_mpirun(
      wording::mpirun_ended(wording::node(config_.node_names, end->node), describe(end->status)),
      end->said, end->status.code());
}

}  // namespace dlaunch
