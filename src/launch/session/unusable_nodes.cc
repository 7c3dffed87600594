#include "launch/session/unusable_nodes.h"

#include <algorithm>
#include <cstddef>
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

}  // namespace

std::map<NodeId, std::string> unusable_nodes(const JobSpec& spec, const Cluster& cluster,
                                             const PlanContext& context, const Prepared& outcome) {
  std::map<NodeId, std::string> nodes;
  if (!outcome.failure) return nodes;
  const std::string what = first_line(outcome.failure->message);
  if (outcome.failed_at == PrepareStep::plan) {
    for (const NodeId node : in_the_way(spec, cluster, context)) nodes.emplace(node, what);
  } else if (outcome.failed_at == PrepareStep::meeting) {
    for (const NodeId node : outcome.unreached) nodes.emplace(node, what);
  } else {
    for (const auto& [node, lines] : outcome.missing) nodes.emplace(node, joined(lines));
  }
  const std::size_t used = outcome.plan ? outcome.plan->nodes.size() : cluster.nodes.size();
  if (nodes.size() >= used) nodes.clear();
  return nodes;
}

}  // namespace dlaunch
