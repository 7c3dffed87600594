#include "supervise/restart_policy.h"

#include <algorithm>
#include <optional>

#include "model/result.h"
#include "text/strings.h"

namespace dlaunch {
namespace {

/// nullopt: another attempt would end in the same way.
std::optional<RestartCause> restart_cause(Cause cause) {
  switch (cause) {
    case Cause::exit_code:
    case Cause::signal:
    case Cause::out_of_memory:
    case Cause::starter:
      return RestartCause::failure;
    case Cause::node_lost:
      return RestartCause::node_loss;
    case Cause::hang:
      return RestartCause::hang;
    case Cause::preempted:
      return RestartCause::preemption;
    case Cause::success:
    case Cause::cannot_execute:
    case Cause::time_limit:
    case Cause::cancelled:
    case Cause::plan:
    case Cause::port_taken:
    case Cause::mpi:
    case Cause::stragglers:
    case Cause::not_collected:
    case Cause::internal:
      return std::nullopt;
  }
  return std::nullopt;
}

/// The cause as the job file spells it.
const char* word_of(RestartCause cause) {
  switch (cause) {
    case RestartCause::failure:
      return "failure";
    case RestartCause::node_loss:
      return "node-loss";
    case RestartCause::hang:
      return "hang";
    case RestartCause::preemption:
      return "preemption";
  }
  return "";
}

}  // namespace

RestartDecision RestartBudget::after(const FailedAttempt& failed, NodesLeft nodes) {
  using Kind = RestartDecision::Kind;
  const Outcome& outcome = failed.outcome;
  if (outcome.cause != Cause::port_taken) ports_in_a_row_ = 0;
  const bool all_nodes_up = !nodes.lost && !nodes.stuck;
  if (outcome.cause == Cause::port_taken && all_nodes_up && ports_in_a_row_ < port_retries_) {
    ++ports_in_a_row_;
    return {Kind::new_port, Duration(0), 0, ""};
  }
  const std::optional<RestartCause> cause = restart_cause(outcome.cause);
  if (policy_.max == 0 || !cause) return {};
  if (std::string why = objection(*cause, outcome.exit_code, nodes); !why.empty()) {
    return {Kind::none, Duration(0), 0, std::move(why)};
  }
  // A hang or a lost node goes unnoticed for a while, which does not count as healthy.
  const RestartDecision decision = at_best(failed.ran - failed.unnoticed.value_or(Duration(0)));
  if (decision.kind == Kind::restart) {
    used_ = decision.number;
    wait_ = decision.wait;
  }
  return decision;
}

RestartDecision RestartBudget::at_best(MonotonicTime healthy) const {
  using Kind = RestartDecision::Kind;
  const std::uint32_t used = healthy >= policy_.reset_after ? 0 : used_;
  if (used >= static_cast<std::uint32_t>(policy_.max)) {
    return {Kind::none, Duration(0), 0,
            "restart.max of " + std::to_string(policy_.max) + " is used up"};
  }
  const bool begins_anew = healthy >= std::min<MonotonicTime>(kHealthy, policy_.reset_after);
  return {Kind::restart, begins_anew ? policy_.backoff_min : next_wait(), used + 1, ""};
}

bool RestartBudget::answers(RestartCause cause) const {
  return contains(policy_.on, cause);
}

bool RestartBudget::waits_for_nodes() const {
  return policy_.max > 0 && answers(RestartCause::node_loss);
}

/// What forbids a restart whatever the budget; empty: nothing.
std::string RestartBudget::objection(RestartCause cause, int exit_code, NodesLeft nodes) const {
  if (!answers(cause)) return std::string("restart.on does not include \"") + word_of(cause) + '"';
  if (nodes.stuck) return "a node did not confirm that its processes are gone";
  if (nodes.lost && !answers(RestartCause::node_loss))
    return "a node was lost, and restart.on does not include \"node-loss\"";
  if (cause != RestartCause::failure) return "";
  const std::string code = "exit code " + std::to_string(exit_code);
  if (exit_code == exit_code::kCannotExecute || exit_code == exit_code::kNotFound)
    return code + " means that a program cannot be executed";
  if (contains(policy_.not_on_exit, exit_code)) return code + " is in restart.not_on_exit";
  return "";
}

Duration RestartBudget::next_wait() const {
  constexpr Duration kSecond = std::chrono::seconds(1);
  if (!wait_) return policy_.backoff_min;
  if (*wait_ > policy_.backoff_max / 2) return policy_.backoff_max;
  return std::min(std::max(2 * *wait_, kSecond), policy_.backoff_max);
}

}  // namespace dlaunch
