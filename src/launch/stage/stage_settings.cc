#include "launch/stage/stage_settings.h"

#include <filesystem>
#include <utility>

#include <unistd.h>

#include "os/own_machine.h"
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

std::vector<std::string> stage_targets(const JobSpec& spec, const std::string& workdir,
                                       const std::string& home) {
  std::vector<std::string> targets;
  for (const Transfer& line : spec.stage) {
    const std::filesystem::path from = absolute(line.from, workdir, home);
    targets.push_back(line.to.empty() ? from.lexically_normal().string() : line.to);
  }
  return targets;
}

std::string stages_as(const std::string& run_id) {
  return run_id.empty()
             ? "dlaunch stage on " + own_hostname() + ", process " + std::to_string(::getpid())
             : "run " + run_id;
}

StageRunSettings stage_settings(const JobSpec& spec, const LaunchPlan& plan, const Cluster& cluster,
                                StageTo to, const std::string& home) {
  StageRunSettings settings;
  settings.needs_all = spec.active_env == ActiveEnv::required;
  const std::vector<std::string> targets = stage_targets(spec, plan.workdir, home);
  for (std::size_t i = 0; i < targets.size(); ++i)
    settings.items.push_back(
        {absolute(spec.stage[i].from, plan.workdir, home), targets[i], spec.stage[i].unpack});
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
