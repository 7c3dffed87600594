#include "launch/stage/stage_settings.h"

#include "plan/candidates.h"

namespace dlaunch {

namespace {

/// The source's own, best first.
std::vector<std::string> addresses_between(RendezvousSpec rendezvous, const Node* source,
                                           const Node* node) {
  std::vector<std::string> addresses;
  if (source == nullptr || node == nullptr) return addresses;
  rendezvous.address = "auto";  // which may be another node's
  Cluster both;
  both.nodes = {*source, *node};
  const auto candidates = rendezvous_candidates(rendezvous, both);
  if (!candidates) return addresses;
  for (const Candidate& candidate : *candidates) {
    if (candidate.is_ip && candidate.is_own) addresses.push_back(candidate.address);
  }
  return addresses;
}

}  // namespace

StageRunSettings stage_settings(const JobSpec& spec, const LaunchPlan& plan,
                                const Cluster& cluster) {
  StageRunSettings settings;
  for (const Transfer& line : spec.stage) {
    const bool is_absolute = line.from.starts_with('/');
    settings.items.push_back({is_absolute ? line.from : plan.workdir + '/' + line.from, line.to});
  }
  for (const NodePlan& node : plan.nodes) {
    const bool forwards = node.is_remote && spec.stage_via == StageVia::nodes;
    settings.nodes.push_back({node.id, node.name, forwards});
  }
  settings.addresses = [&cluster, rendezvous = spec.rendezvous, nodes = settings.nodes](
                           std::size_t source, std::size_t node) {
    return addresses_between(rendezvous, cluster.find(nodes[source].node),
                             cluster.find(nodes[node].node));
  };
  return settings;
}

}  // namespace dlaunch
