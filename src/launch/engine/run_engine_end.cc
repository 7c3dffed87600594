// Answers of a run about itself, and its end.
#include <string>
#include <utility>

#include "launch/collect/collect_settings.h"
#include "launch/engine/run_engine.h"
#include "os/clock.h"
#include "os/own_machine.h"
#include "report/prometheus_text.h"
#include "report/summary.h"

namespace dlaunch {

namespace {

constexpr Duration kGoodbye = std::chrono::seconds(2);
// Time to learn why Slurm sent the signal: Slurm was asked when the signal came, and may kill us
// soon.
constexpr Duration kSlurmAnswers = std::chrono::seconds(2);
// Limit for the remaining work when the launcher itself has failed.
constexpr Duration kHurried = std::chrono::seconds(5);

/// The run's end as `dlaunch runs` names it.
std::string end_of(const Outcome& outcome) {
  if (outcome.exit_code == 0) return "done";
  return outcome.cause == Cause::cancelled ? "stopped" : "failed";
}

}  // namespace

StatusReply RunEngine::status() const {
  StatusReply reply = watch_.status(now());
  reply.run = store_.folder().id();
  reply.name = options_.spec.name;
  if (plan_) reply.spares = nodes_.spares(*plan_);
  reply.run_ms = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now() - began_).count());
  return reply;
}

std::string RunEngine::prometheus(std::optional<int> exit_code, std::string end) const {
  PrometheusInput input{status(), {}, own_hostname(), std::move(end), exit_code};
  if (plan_) {
    for (const RankPlan& rank : plan_->ranks) input.roles.push_back(rank.role);
  }
  return prometheus_text(input);
}

Result<StopReply> RunEngine::stop(const StopQuestion& question) {
  if (question.checkpoint) return checkpoint_stop_.begin();
  question.now ? signals_.kill() : signals_.stop();
  const Timeouts& timeouts = options_.spec.timeouts;
  const Duration collect = options_.spec.collect.empty() ? Duration(0) : timeouts.collect;
  return StopReply{static_cast<std::uint64_t>((timeouts.stop + collect).count())};
}

// ---- the end

SummaryParts RunEngine::summary_parts() {
  return {options_,
          store_,
          screen_,
          output_,
          nodes_.targets(),
          plan(),
          stalls_.seen(),
          checkpoints_.accounts(),
          signals_.reason(),
          spares_,
          collect_.report() ? &*collect_.report() : nullptr};
}

/// The parts also get events that the supervisor no longer gets.
void RunEngine::end_preparation() {
  if (plan_) spares_ = nodes_.spares(*plan_);
  for (const Event& event : std::exchange(queue_, {})) tell(event);
  finishing_ = true;
  give_back_.cancel();
  return_check_.cancel();
  questions_.close();
  stalls_.end();
  slow_.end();
  if (store_.is_open()) samples_.write();
  checkpoints_.end(false);
  checkpoint_stop_.end();
  terminals_.close();
  front_.connected();
  preparation_.cancel();
}

void RunEngine::part_from_agents() {
  output_.allow(kGoodbye);
  output_.run_until([this] { return nodes_.all_ended() && signals_.has_stopped(); }, kGoodbye);
  // If we do not, the front reaps them, and we can end at once.
  if (front_.is_gone() || options_.detach || !nodes_.end_by_themselves()) nodes_.reap_processes();
}

/// A run that has failed keeps its cause.
void RunEngine::collect(RunReport& report) {
  if (options_.spec.collect.empty() || !plan_) return;
  collect_.run(*plan_);
  if (collect_.report()->is_whole()) return;
  std::string problems = problems_in(*collect_.report(), store_.shown_path());
  if (report.outcome.cause != Cause::success) return screen_.say("dlaunch: " + problems);
  report.outcome.cause = Cause::not_collected;
  report.outcome.exit_code = exit_code::kNotCollected;
  report.outcome.detail = std::move(problems);
}

int RunEngine::finish(RunReport report) {
  end_preparation();
  std::vector<Rank> lost;
  for (std::uint32_t rank = 0; rank < report.ranks.size(); ++rank) {
    if (report.ranks[rank].how == RankEnd::How::lost) lost.emplace_back(rank);
  }
  output_.finish(lost);
  collect(report);
  nodes_.release_all();
  signals_.stop_listening();
  output_.run_until([this] { return !signals_.is_asking(); }, kSlurmAnswers);
  loop_.poll();  // the Byes are sent while we write
  std::string summary = write_summary(report, summary_parts());
  part_from_agents();
  output_.drain();
  screen_.tell_if_stdout_broke();  // the first failed write may be the last one
  if (report.outcome.cause != Cause::success || !options_.quiet) screen_.write(std::move(summary));
  if (const std::string errors = front_.agent_errors(); !errors.empty()) screen_.say(errors);
  output_.drain();
  prometheus_.end([&] { return prometheus(report.outcome.exit_code, end_of(report.outcome)); });
  (void)store_.flush();
  return report.outcome.exit_code;
}

void RunEngine::finish(const Error& error) {
  end_preparation();
  if (plan_) {
    for (const NodePlan& node : plan_->nodes)
      nodes_.send(node.id, wire::KillRanks{plan_->attempt, {}});
  }
  output_.finish({}, kHurried);
  nodes_.release_all();
  signals_.stop_listening();
  part_from_agents();
  screen_.say("dlaunch: " + error.message);
  if (store_.is_open()) {
    write_summary(error, monotonic_now() - began_, summary_parts());
    prometheus_.end([&] { return prometheus(error.exit_code, "failed"); });
  }
  output_.drain();
}

}  // namespace dlaunch
