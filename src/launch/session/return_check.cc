#include "launch/session/return_check.h"

#include <utility>

#include "launch/session/prerequisite_question.h"
#include "supervise/wording.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

/// The nodes of the next attempt as they would be if `node` were among them.
Cluster with(const Node& node, const JobSpec& spec, Cluster cluster) {
  std::erase_if(cluster.nodes, [&](const Node& one) { return one.id == node.id; });
  const auto most = static_cast<std::size_t>(spec.nodes ? spec.nodes->max : 1);
  if (cluster.nodes.size() < most) {
    cluster.nodes.push_back(node);
  } else {
    cluster.nodes[most - 1] = node;
  }
  return cluster;
}

}  // namespace

ReturnCheck::ReturnCheck(EventLoop& loop, const JobSpec& spec, Nodes& nodes, Listener listener)
    : loop_(loop), spec_(spec), nodes_(nodes), listener_(std::move(listener)) {}

void ReturnCheck::begin(const Node& node, Attempt attempt, const PlanContext& context) {
  checks_.erase(node.id);
  // Only the first node looks for mpirun, which it does before each attempt.
  if (spec_.mpi.launcher == Mpi::Launcher::mpirun) return listener_.passed(node.id, attempt);
  const Cluster cluster = with(node, spec_, nodes_.cluster());
  const auto plan = make_plan(spec_, cluster, context);
  if (!plan) return fail(node.id, first_line(plan.error().message));
  const auto rank = plan->find(node.id);
  // What is copied before the start may still be missing.
  if (spec_.sync.is_on || !spec_.stage.empty() || !rank) return listener_.passed(node.id, attempt);
  PrerequisiteQuestion question =
      prerequisite_question(spec_, *plan, *rank, launcher_files(plan->workdir));
  const wire::CheckPrerequisites message = question.message;
  auto check = std::make_unique<Check>(
      loop_, attempt,
      MissingPrerequisites(*plan, cluster, false, false, {{node.id, std::move(question)}}));
  check->limit.after(spec_.timeouts.connect, [this, id = node.id] {
    fail(id, "no answer within " + wording::duration(spec_.timeouts.connect) +
                 " to the check for what the ranks need");
  });
  checks_[node.id] = std::move(check);
  nodes_.send(node.id, message);
}

bool ReturnCheck::on(NodeId node, const wire::PrerequisitesMissing& answer) {
  const auto found = checks_.find(node);
  if (found == checks_.end()) return false;
  Check& check = *found->second;
  check.missing.add(node, answer);
  if (!check.missing.complete()) return false;  // an answer of another attempt
  const auto lacks = check.missing.by_node();
  if (const auto lack = lacks.find(node); lack != lacks.end()) {
    fail(node, joined(lack->second));
    return true;
  }
  const Attempt attempt = check.attempt;
  checks_.erase(found);
  faults_.erase(node);
  listener_.passed(node, attempt);
  return true;
}

bool ReturnCheck::note_fault(NodeId node, const std::string& what) {
  return std::exchange(faults_[node], what) != what;
}

void ReturnCheck::fail(NodeId node, std::string what) {
  checks_.erase(node);
  const bool is_new = note_fault(node, what);
  listener_.failed(node, std::move(what), is_new);
}

}  // namespace dlaunch
