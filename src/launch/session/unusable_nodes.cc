#include "launch/session/unusable_nodes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "text/strings.h"

namespace dlaunch {

namespace {

// Each candidate costs a plan, during which the launcher does nothing else.
constexpr std::size_t kCandidates = 16;

Cluster without(const std::set<NodeId>& nodes, Cluster cluster) {
  std::erase_if(cluster.nodes, [&](const Node& node) { return nodes.contains(node.id); });
  return cluster;
}

/// The fewest nodes without which a plan can be made; those with the fewest GPUs and cores first.
std::set<NodeId> in_the_way(const JobSpec& spec, const Cluster& cluster,
                            const PlanContext& context) {
  const auto can_do_without = [&](const std::set<NodeId>& nodes) {
    return make_plan(spec, without(nodes, cluster), context).has_value();
  };
  std::vector<const Node*> order;
  for (const Node& node : cluster.nodes) order.push_back(&node);
  std::stable_sort(order.begin(), order.end(), [](const Node* a, const Node* b) {
    return std::pair(a->facts.gpus.size(), a->facts.cores.size()) <
           std::pair(b->facts.gpus.size(), b->facts.cores.size());
  });
  const auto needed = static_cast<std::size_t>(spec.nodes ? std::max(spec.nodes->min, 1) : 1);
  const std::size_t most = std::min(order.size() - std::min(order.size(), needed), kCandidates);
  std::set<NodeId> gone;
  while (gone.size() < most) {
    gone.insert(order[gone.size()]->id);
    if (!can_do_without(gone)) continue;
    for (const NodeId node : std::set<NodeId>(gone)) {
      std::set<NodeId> fewer = gone;
      fewer.erase(node);
      if (can_do_without(fewer)) gone = std::move(fewer);
    }
    return gone;
  }
  return {};
}

/// in_the_way(), with the error of a plan that lacks only the others; `what` where there is none.
std::map<NodeId, std::string> faults_of_plan(const JobSpec& spec, const Cluster& cluster,
                                             const PlanContext& context, const std::string& what) {
  const std::set<NodeId> gone = in_the_way(spec, cluster, context);
  std::map<NodeId, std::string> faults;
  for (const NodeId node : gone) {
    std::set<NodeId> others = gone;
    others.erase(node);
    const auto plan = make_plan(spec, without(others, cluster), context);
    faults.emplace(node, plan ? what : first_line(plan.error().message));
  }
  return faults;
}

/// Of two nodes that do not reach each other, the one that the last attempt did not use.
std::vector<NodeId> new_one_of(const std::vector<NodeId>& two, const LaunchPlan& last) {
  std::vector<NodeId> added;
  std::copy_if(two.begin(), two.end(), std::back_inserter(added),
               [&](NodeId node) { return !last.find(node); });
  if (added.size() != 1) added.clear();
  return added;
}

}  // namespace

std::map<NodeId, std::string> unusable_nodes(const JobSpec& spec, const Cluster& cluster,
                                             const PlanContext& context, const LaunchPlan& last,
                                             const Prepared& outcome) {
  std::map<NodeId, std::string> nodes;
  if (!outcome.failure) return nodes;
  const std::string what = first_line(outcome.failure->message);
  if (outcome.failed_at == PrepareStep::plan) {
    nodes = faults_of_plan(spec, cluster, context, what);
  } else if (outcome.failed_at == PrepareStep::meeting) {
    for (const NodeId node : outcome.unreached) nodes.emplace(node, what);
    for (const NodeId node : new_one_of(outcome.one_of_these, last)) nodes.emplace(node, what);
  } else {
    for (const auto& [node, lines] : outcome.missing) nodes.emplace(node, joined(lines));
  }
  const std::size_t used = outcome.plan ? outcome.plan->nodes.size() : cluster.nodes.size();
  const bool was_used = std::any_of(nodes.begin(), nodes.end(),
                                    [&](const auto& node) { return last.find(node.first); });
  if (nodes.size() >= used && was_used) nodes.clear();
  return nodes;
}

}  // namespace dlaunch
