#include "measure/check/azure_size_findings.h"

#include <algorithm>

#include "plan/fabric_ports.h"

namespace dlaunch {

namespace {

using Severity = CheckFinding::Severity;

/// Whether the node has an InfiniBand port in any state; a port that is down has its own finding.
bool has_infiniband(const NodeFacts& facts) {
  return std::any_of(facts.fabric.rdma.begin(), facts.fabric.rdma.end(), [](const auto& device) {
    return is_infiniband_card(device) &&
           std::any_of(device.ports.begin(), device.ports.end(), [](const RdmaPort& port) {
             return port.link_layer == RdmaPort::LinkLayer::infiniband;
           });
  });
}

}  // namespace

std::vector<CheckFinding> azure_size_findings(const fabric::AzureSize& size,
                                              const std::vector<CheckedNode>& nodes) {
  const bool expected = size.has_rdma && size.has_sriov;
  std::vector<CheckFinding> findings;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].failure.empty()) continue;
    const bool found = has_infiniband(nodes[i].facts);
    if (expected && !found) {
      findings.push_back(
          {Severity::note,
           {i},
           "azure-size",
           "no InfiniBand port was found, but " + size.name + " has InfiniBand: " + size.says,
           "use an HPC image of Azure, which has the driver; in a container: "
           "/sys/class/infiniband and /dev/infiniband"});
    }
    if (!expected && found) {
      findings.push_back({Severity::note,
                          {i},
                          "azure-size",
                          "an InfiniBand port was found, but " + size.name +
                              " has none: the node may be of another size",
                          ""});
    }
  }
  if (!expected)
    findings.push_back({Severity::note, {}, "azure-size", size.name + ": " + size.says, ""});
  return findings;
}

}  // namespace dlaunch
