#include "launch/session/assumed_cluster.h"

#include "plan/make_plan.h"

namespace dlaunch {

namespace {

constexpr std::uint32_t kExamplePort = 21000;
constexpr std::uint32_t kLastPort = 65535;

}  // namespace

Result<Cluster> assumed_cluster(const JobSpec& spec, const OwnMachine& own) {
  const auto targets = node_targets(spec, own);
  if (!targets) return tl::unexpected(targets.error());
  Cluster cluster;
  cluster.is_assumed = true;
  for (const NodeTarget& target : *targets) {
    Node node = node_of(target, targets->size() == 1);
    node.id = NodeId(static_cast<std::uint32_t>(cluster.nodes.size()));
    for (std::uint32_t i = 0; i < ports_wanted(spec) && kExamplePort + i <= kLastPort; ++i)
      node.facts.reserved_ports.push_back(static_cast<std::uint16_t>(kExamplePort + i));
    cluster.nodes.push_back(std::move(node));
  }
  return cluster;
}

}  // namespace dlaunch
