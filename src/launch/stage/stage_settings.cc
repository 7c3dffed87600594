#include "launch/stage/stage_settings.h"

#include <filesystem>
#include <utility>

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

std::string absolute(const std::string& from, const std::string& workdir, const std::string& home) {
  if (from.starts_with('/')) return from;
  return from.starts_with("~/") ? home + from.substr(1) : workdir + '/' + from;
}

}  // namespace

StageRunSettings stage_settings(const JobSpec& spec, const LaunchPlan& plan, const Cluster& cluster,
                                StageTo to, const std::string& home) {
  StageRunSettings settings;
  for (const Transfer& line : spec.stage) {
    StageItem item{absolute(line.from, plan.workdir, home), line.to};
    if (item.to.empty()) item.to = std::filesystem::path(item.from).lexically_normal();
    settings.items.push_back(std::move(item));
  }
  for (const Node& node : cluster.nodes) {
    if (to == StageTo::plan && !plan.find(node.id)) continue;
    const bool forwards = !node.is_launcher && spec.stage_via == StageVia::nodes;
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
