// What the supervisor does when a limit expires: of the run, of a phase, of single nodes.
#include "supervise/supervisor.h"
#include "supervise/wording.h"

namespace dlaunch {

void Supervisor::enforce_limits() {
  if (const auto due = run_due(); due && *due <= now_) enforce_run_limit();
  if (phase_due_ && *phase_due_ <= now_) enforce_phase_limit();
  if (attempt_.begun_due && *attempt_.begun_due <= now_) judge_missing_ranks();
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
  if (phase_ == Phase::connect) try_lost_nodes();
}

void Supervisor::enforce_phase_limit() {
  if (phase_ == Phase::wait) return advance(Step::waited);
  if (phase_ == Phase::plan) {
    return halt(verdict_plan_failed(
        {exit_code::kInternal, "no plan within " + wording::duration(config_.connect_limit)}));
  }
  for (std::uint32_t i = 0; i < config_.nodes; ++i) {
    if (channels_[i] != Channel::opening || returns_.waits_for(NodeIndex{i})) continue;
    attempt_.not_connected.push_back({NodeIndex{i}, wording::no_answer(config_.connect_limit)});
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
  if (!has_ranks()) return halt(verdict_time_limit());
  halt(verdict_time_limit());
  ask(action::Tell{wording::stopping_at_limit(*config_.run_limit,
                                              {running, config_.stop_signal, config_.stop_grace})});
}

void Supervisor::stop_stragglers() {
  const std::uint32_t running = attempt_.progress.running();
  halt(verdict_stragglers(attempt_.progress.running_ranks()));
  ask(action::Tell{wording::stopping_stragglers(
      *config_.stragglers_limit, {running, config_.stop_signal, config_.stop_grace})});
}

}  // namespace dlaunch
