// What must be true of a whole run, over all its attempts.
#include <algorithm>
#include <array>

#include "attempts.h"
#include "invariants.h"

using namespace std::chrono_literals;

namespace dlaunch::sim {
namespace {

Finding counts_leftovers(const Trace&, const std::vector<Part>& parts) {
  std::uint32_t sum = 0;
  for (const Part& part : parts) sum += part.digest.leftovers;
  const std::uint32_t told = parts.back().digest.report->leftovers;
  return told == sum ? Finding{} : Finding{std::to_string(told)};
}

Finding no_two_attempts_at_once(const Trace& t, const std::vector<Part>&) {
  return t.overlap ? Finding{"a rank was alive"} : Finding{};
}

/// Recomputes the budget and the waits (docs/how-to/restart-after-a-failure.md).
Finding keeps_the_budget(const Trace& t, const std::vector<Part>&) {
  const RestartPolicy& policy = t.scenario.config.restart;
  int used = 0;
  int waits = 0;  // since the last healthy attempt
  std::uint32_t ports = 0;
  for (const StepRecord& step : t.steps) {
    const auto* restart = find_action<action::Restart>(step);
    if (restart == nullptr) continue;
    const FailedAttempt& failed = restart->failed;
    const std::string which = "attempt " + std::to_string(failed.attempt.value);
    if (failed.outcome.cause == Cause::port_taken) {
      if (++ports > t.scenario.config.port_retries) return which + ": one port too many";
      if (failed.wait.count() != 0) return which + ": waits for a port";
      continue;
    }
    ports = 0;
    const MonotonicTime healthy = failed.ran - failed.unnoticed.value_or(Duration(0));
    if (healthy >= policy.reset_after) used = 0;
    if (++used > policy.max) return which + ": over restart.max";
    if (healthy >= std::min<MonotonicTime>(RestartBudget::kHealthy, policy.reset_after)) waits = 0;
    const Duration second = std::max<Duration>(2 * policy.backoff_min, std::chrono::seconds(1));
    const Duration wait =
        waits == 0 ? policy.backoff_min : std::min(second * (1 << (waits - 1)), policy.backoff_max);
    ++waits;
    if (failed.wait != wait) return which + ": waits " + std::to_string(failed.wait.count());
  }
  return {};
}

Finding restarts_only_what_may(const Trace& t, const std::vector<Part>&) {
  const RestartPolicy& policy = t.scenario.config.restart;
  bool interrupted = false;
  for (const StepRecord& step : t.steps) {
    interrupted =
        interrupted || (step.event && (std::holds_alternative<event::CancelSignal>(*step.event) ||
                                       std::holds_alternative<event::FrontGone>(*step.event)));
    const auto* restart = find_action<action::Restart>(step);
    if (restart == nullptr) continue;
    const FailedAttempt& failed = restart->failed;
    const std::string which = "attempt " + std::to_string(failed.attempt.value);
    if (interrupted) return which + " was interrupted";
    if (failed.outcome.cause == Cause::node_lost) {
      if (!t.scenario.waits_for_nodes()) return which + ": a node was lost";
      if (failed.outcome.lost_nodes.empty()) return which + ": which node?";
      continue;
    }
    if (failed.outcome.cause == Cause::preempted) {
      if (!t.scenario.has_spares()) return which + ": on which node?";
      if (std::find(policy.on.begin(), policy.on.end(), RestartCause::preemption) ==
          policy.on.end())
        return which + ": no preemption in restart.on";
      continue;
    }
    if (failed.outcome.cause == Cause::hang) {
      if (std::find(policy.on.begin(), policy.on.end(), RestartCause::hang) == policy.on.end())
        return which + ": no hang in restart.on";
      continue;
    }
    if (!failed.outcome.from_rank && failed.outcome.cause != Cause::starter)
      return which + " was ended by dlaunch";
    if (failed.outcome.cause == Cause::port_taken) continue;
    const auto& codes = policy.not_on_exit;
    if (std::find(codes.begin(), codes.end(), failed.outcome.exit_code) != codes.end())
      return which + ": not_on_exit";
    if (std::find(policy.on.begin(), policy.on.end(), RestartCause::failure) == policy.on.end())
      return which + ": not in restart.on";
  }
  return {};
}

Finding waits_as_long_as_it_says(const Trace& t, const std::vector<Part>&) {
  std::optional<MonotonicTime> from;
  for (const StepRecord& step : t.steps) {
    const auto* restart = find_action<action::Restart>(step);
    if (restart != nullptr) from = step.now + restart->failed.wait;
    const bool asks = from && begins_attempt(step);
    if (asks && from && step.now < *from) return "attempt begins too early";
    if (from && !asks && step.now > *from + t.scenario.lateness() && !step.done &&
        find_action<action::Restart>(step) == nullptr)
      return "attempt begins too late";
    if (asks) from.reset();
  }
  return {};
}

/// An interruption, a lost node or the time limit ends a wait in the same step.
Finding ends_a_wait_at_once(const Trace& t, const std::vector<Part>& parts) {
  bool waiting = false;
  for (const StepRecord& step : t.steps) {
    const bool ends = waiting && step.event &&
                      (std::holds_alternative<event::CancelSignal>(*step.event) ||
                       std::holds_alternative<event::FrontGone>(*step.event) ||
                       (std::holds_alternative<event::NodeLost>(*step.event) &&
                        !t.scenario.waits_for_nodes() && !t.scenario.has_spares()));
    if (ends && !step.done) return "it goes on";
    if (ends) break;
    if (find_action<action::Restart>(step) != nullptr) waiting = true;
    if (begins_attempt(step)) waiting = false;
    if (step.done) break;
  }
  if (!ended_in_wait(t)) return {};
  const RunReport& report = *parts.back().digest.report;
  if (report.outcome.from_rank || report.outcome.exit_code == 0)
    return "not the code of what ended it";
  return {};
}

/// The limit is per node, so there is a latest and an earliest end, but not a single one.
Finding waits_for_nodes_as_long_as_it_says(const Trace& t, const std::vector<Part>& parts) {
  const RunReport& report = *parts.back().digest.report;
  if (report.outcome.detail.find("did not answer again") == std::string::npos) return {};
  std::optional<MonotonicTime> first;  // of this wait
  MonotonicTime last{};
  for (const StepRecord& step : t.steps) {
    if (find_action<action::Restart>(step) != nullptr) first.reset();
    for (const Action& action : step.actions) {
      const auto* told = std::get_if<action::Tell>(&action);
      if (told == nullptr || !is_wait(*told)) continue;
      first = first.value_or(step.now);
      last = step.now;
    }
    if (!step.done) continue;
    if (!first) return "it has waited for nothing";
    // The last try may fail early, and begins no later than 2 s before the limit.
    const MonotonicTime limit = t.scenario.config.return_limit;
    if (step.now < *first + limit - std::min<MonotonicTime>(limit, 2s)) return "too early";
    if (step.now > last + limit + kFence + t.scenario.lateness()) return "too late";
    return {};
  }
  return {};
}

bool is_cancel(const StepRecord& step) {
  return step.event && (std::holds_alternative<event::CancelSignal>(*step.event) ||
                        std::holds_alternative<event::FrontGone>(*step.event));
}

/// The first one: after the grace and the kill; the second one: after the kill.
Finding ends_when_cancelled(const Trace& t, const std::vector<Part>&) {
  const SupervisorConfig& config = t.scenario.config;
  std::optional<MonotonicTime> due;
  for (const StepRecord& step : t.steps) {
    if (due && step.now > *due + 2 * t.scenario.lateness()) return "it goes on";
    if (is_cancel(step)) {
      const MonotonicTime killed = step.now + config.end_limit;
      due = due ? std::min(*due, killed) : killed + config.stop_grace;
    }
    if (step.done) return {};
  }
  return "it never ends";
}

/// Each moment belongs to one line, and the waits are those that can be seen from outside.
Finding accounts_for_its_time(const Trace& t, const std::vector<Part>& parts) {
  const RunReport& report = *parts.back().digest.report;
  MonotonicTime sum{0};
  for (const MonotonicTime spent : report.spent) {
    if (spent.count() < 0) return "less than nothing";
    sum += spent;
  }
  if (sum != report.elapsed) return "the sum is not the whole";
  const auto of = [&](Spent line) { return report.spent[static_cast<std::size_t>(line)]; };
  const MonotonicTime again = of(Spent::lost_nodes) + of(Spent::restarting) + of(Spent::recomputed);
  if (report.earlier.empty() && again.count() > 0) return "a restart without a failure";
  MonotonicTime waited{0};
  std::optional<MonotonicTime> since;
  for (const StepRecord& step : t.steps) {
    if (find_action<action::Restart>(step) != nullptr) since = step.now;
    if (since && (begins_attempt(step) || step.done))
      waited += step.now - *std::exchange(since, std::nullopt);
    if (step.done) break;
  }
  if (of(Spent::back_off) != waited) return "another wait than that before restarts";
  for (const FailedAttempt& failed : report.earlier) {
    if (failed.again && *failed.again < failed.stopped + failed.wait)
      return "ranks ran again before the wait was over";
  }
  return {};
}

constexpr std::array kRunInvariants = {
    RunInvariant{"every run ends, and whatever is cancelled twice ends as soon as it is killed",
                 ends_when_cancelled},
    RunInvariant{"leftovers are the sum of what nodes reported", counts_leftovers},
    RunInvariant{"no rank of an attempt is alive when the next one begins",
                 no_two_attempts_at_once},
    RunInvariant{"restart.max and port retries are never exceeded, waits double", keeps_the_budget},
    RunInvariant{"only failures and losses that may be restarted are", restarts_only_what_may},
    RunInvariant{"a node that does not return ends the run when its limit is over",
                 waits_for_nodes_as_long_as_it_says},
    RunInvariant{"the next attempt begins when the wait is over", waits_as_long_as_it_says},
    RunInvariant{"what interrupts a wait ends the run at once", ends_a_wait_at_once},
    RunInvariant{"the ledger sums up", accounts_for_its_time},
};

}  // namespace

std::span<const RunInvariant> run_invariants() {
  return kRunInvariants;
}

}  // namespace dlaunch::sim
