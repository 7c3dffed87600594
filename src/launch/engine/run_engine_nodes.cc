// Nodes that an attempt could not use: spares and returned nodes that fail their check, and nodes
// that turn out to be unusable when they are needed.
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launch/engine/run_engine.h"
#include "launch/session/node_events.h"
#include "launch/session/unusable_nodes.h"
#include "plan/success.h"

namespace dlaunch {

void RunEngine::on(NodeId node, wire::Facts& facts) {
  const Node* const returned = nodes_.returned(node);
  if (returned == nullptr || !plan_) return push(event_of(node, facts));
  if (!finishing_) return_check_.begin(*returned, facts.attempt, plan_context(plan_->attempt));
}

/// Once the ranks run, so that no start waits for a node that it does not use. One by one, because
/// each check makes a plan.
void RunEngine::check_spares() {
  if (!has_membership(options_.spec) || options_.spec.restart.max == 0) return;
  for (const Node& node : nodes_.cluster().nodes) {
    if (plan_->find(node.id) || !nodes_.is_ready(node.id)) continue;
    loop_.post([this, id = node.id, attempt = plan_->attempt] {
      const Node* const spare = nodes_.cluster().find(id);
      if (spare == nullptr || finishing_ || !started_ || plan_->attempt != attempt) return;
      return_check_.begin(*spare, attempt, plan_context(attempt));
    });
  }
}

void RunEngine::pass(NodeId node, Attempt attempt) {
  if (nodes_.cluster().find(node) != nullptr) return;  // a spare
  nodes_.admit(node);
  push(event::NodeReady{node, attempt});
}

/// The next attempt is to go on without the node, as this one does. The supervisor says so of a
/// spare that it loses while ranks run, and only then.
void RunEngine::refuse(NodeId node, std::string what, bool is_new) {
  const bool is_spare = nodes_.cluster().find(node) != nullptr;
  if (is_spare && started_ && plan_->find(node)) return;  // it has been checked again, and is used
  const bool is_told = is_spare && started_ && !stopping_;
  if (is_new && !is_told) {
    screen_.note(
        nodes_.targets()[node.value].host.name +
        (is_spare ? ", a spare, cannot be used: " : " answers again, but cannot be used: ") + what);
  }
  give_up(node, std::move(what));
}

void RunEngine::give_up(NodeId node, std::string what) {
  nodes_.release(node);
  push(event::NodeLost{node, std::move(what)});
}

/// The supervisor already has the event of a lost node.
void RunEngine::prepared(Prepared outcome) {
  if (!outcome.lost.empty()) return;
  if (outcome.failure && leave_out_unusable(outcome)) return;
  if (outcome.failure) return push(event::PlanFailed{std::move(*outcome.failure)});
  std::optional<LaunchPlan>& plan = outcome.plan;
  event::PlanMade made{plan->attempt, {}, deciding_ranks(options_.spec, *plan)};
  if (plan->mpirun) made.starter = {plan->nodes.front().id, "mpirun"};
  for (const RankPlan& rank : plan->ranks)
    made.node_of_rank.push_back(plan->nodes[rank.node.value].id);
  for (const NodePlan& node : plan->nodes) made.names.emplace_back(node.id, node.name);
  planned_ = std::move(*plan);
  push(std::move(made));
}

/// A job whose nodes may change goes on without those that a restart cannot use. The first attempt
/// fails instead: most likely the job is at fault, and its user is still there. If too few nodes
/// remain, the run may end for lack of these, so the advice is printed.
bool RunEngine::leave_out_unusable(const Prepared& outcome) {
  if (!plan_ || !has_membership(options_.spec)) return false;
  const Attempt next(plan_->attempt.value + 1);
  const auto unusable =
      unusable_nodes(options_.spec, nodes_.cluster(), plan_context(next), *plan_, outcome);
  const std::string& message = outcome.failure->message;
  const auto needed = static_cast<std::size_t>(options_.spec.nodes->min);
  const bool suffices = nodes_.cluster().nodes.size() - unusable.size() >= needed;
  std::string advice = suffices ? "" : message.substr(std::min(message.find('\n'), message.size()));
  for (const auto& [node, what] : unusable) {
    if (return_check_.note_fault(node, what))
      screen_.note(nodes_.targets()[node.value].host.name + " cannot be used: " + what +
                   std::exchange(advice, ""));
    give_up(node, what);
  }
  return !unusable.empty();
}

}  // namespace dlaunch
