// How one attempt of the supervisor's run ends, and whether another one follows.
#include <algorithm>
#include <utility>

#include "supervise/supervisor.h"
#include "supervise/wording.h"

namespace dlaunch {

RunReport Supervisor::report_of_attempt() const {
  RunReport report;
  report.attempt = attempt_.number;
  report.ranks = attempt_.progress.ends();
  if (attempt_.verdict) explain(*attempt_.verdict, attempt_.failures, report);
  if (report.cause == Cause::time_limit) report.limit = config_.run_limit;
  if (report.cause == Cause::stragglers) report.limit = config_.stragglers_limit;
  if (attempt_.taken_port && report.from_rank) {
    report.cause = Cause::port_taken;
    report.port = attempt_.taken_port;
  }
  return report;
}

void Supervisor::attempt_over() {
  if (!attempt_.verdict) return advance(Step::emptied);
  const RunReport report = report_of_attempt();
  const RestartDecision decision = decide_restart(report);
  if (decision.kind != RestartDecision::Kind::none) return repeat(report, decision);
  if (!decision.why_not.empty()) ask(action::Tell{wording::no_restart(decision.why_not)});
  advance(Step::emptied);
}

RestartDecision Supervisor::decide_restart(const RunReport& report) {
  if (attempt_.cancelled) return {};
  AttemptOutcome outcome;
  outcome.cause = report.cause;
  outcome.exit_code = report.exit_code;
  outcome.ran = attempt_.halted - attempt_.began;
  outcome.all_nodes_up = !attempt_.progress.any_node_lost() &&
                         std::all_of(channels_.begin(), channels_.end(),
                                     [](Channel c) { return c == Channel::ready; });
  RestartDecision decision = restarts_.after(outcome);
  const bool follows = decision.kind != RestartDecision::Kind::none;
  if (follows && run_due_ && after(decision.wait) >= *run_due_) {
    return {RestartDecision::Kind::none, Duration(0), 0,
            wording::beyond_the_limit(decision.wait, *config_.run_limit)};
  }
  return decision;
}

void Supervisor::repeat(const RunReport& report, const RestartDecision& decision) {
  EarlierAttempt failed;
  failed.attempt = report.attempt;
  failed.cause = report.cause;
  failed.exit_code = report.exit_code;
  failed.from_rank = report.from_rank;
  failed.first = report.first;
  failed.perhaps_first = report.perhaps_first;
  if (report.first) failed.end = report.ranks[report.first->value];
  failed.port = report.port;
  failed.ran = attempt_.halted - attempt_.began;
  failed.wait = decision.wait;
  failed.restart = decision.number;
  failed.restarts_max = restarts_.max();
  const bool restarts = decision.kind == RestartDecision::Kind::restart;
  ask(action::Restart{failed, Attempt(attempt_.number.value + 1)});
  ask(action::Tell{restarts ? wording::restart(failed, decision.number, restarts_.max())
                            : wording::new_port(failed)});
  earlier_.push_back(std::move(failed));
  advance(Step::failed);
}

}  // namespace dlaunch
