#include "measure/check/port_checks.h"

#include <algorithm>
#include <map>
#include <optional>

#include "plan/fabric_ports.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using Severity = CheckFinding::Severity;
using LinkLayer = RdmaPort::LinkLayer;
using Findings = std::vector<CheckFinding>;
using CheckedNodes = std::vector<CheckedNode>;

struct PortSeen {
  std::uint32_t node = 0;
  const RdmaPort* port = nullptr;
  bool is_beside_a_gpu = false;
};

std::string state_text(const RdmaPort& port) {
  return upper(name_in(kPortStateNames, port.state));
}

bool is_active(const RdmaPort& port) {
  return port.state == RdmaPort::State::active;
}

/// The severity if more than half of the others differ: bad, or a note if there is only one other.
std::optional<Severity> judged(std::size_t otherwise, std::size_t others) {
  if (otherwise == 0 || 2 * otherwise <= others) return std::nullopt;
  return others > 1 ? Severity::bad : Severity::note;
}

/// Finds nodes where the port is down or slow, but ACTIVE or faster on most others that have it.
void check_port(const std::string& name, const std::vector<PortSeen>& seen, Findings& findings) {
  if (seen.size() < 2) return;
  const auto active = static_cast<std::size_t>(std::count_if(
      seen.begin(), seen.end(), [](const PortSeen& one) { return is_active(*one.port); }));
  std::map<std::uint32_t, std::size_t> rates;
  for (const PortSeen& one : seen) {
    if (is_active(*one.port)) ++rates[one.port->rate_mbit];
  }
  for (const PortSeen& one : seen) {
    if (!is_active(*one.port)) {
      auto severity = judged(active, seen.size() - 1);
      if (!severity) continue;
      // A port near a GPU is never meant to be down.
      if (one.is_beside_a_gpu) severity = Severity::bad;
      findings.push_back(
          {*severity,
           {one.node},
           "port-down",
           name + " is " + state_text(*one.port) +
               (one.port->physical_state.empty() ? "" : " (" + one.port->physical_state + ")"),
           "check its cable and its switch port: ibstat, iblinkinfo"});
      continue;
    }
    for (const auto& [rate, count] : rates) {
      const auto severity = judged(count, active - 1);
      if (one.port->rate_mbit >= rate || !severity) continue;
      findings.push_back({*severity,
                          {one.node},
                          "port-rate",
                          name + " runs at " + rate_text(one.port->rate_mbit) + ", " +
                              others_have(count) + ' ' + rate_text(rate),
                          "check its cable: lanes may be lost (iblinkinfo)"});
      break;
    }
  }
}

/// Counts InfiniBand ports and those of physical RoCE cards; the Ethernet of a virtual machine is
/// an RDMA device, too, and comes and goes.
std::size_t rdma_ports(const CheckedNode& node) {
  std::size_t count = 0;
  for (const RdmaDevice& device : node.facts.fabric.rdma) {
    for (const RdmaPort& port : device.ports) {
      const bool is_roce = port.link_layer == LinkLayer::ethernet && !device.pci_address.empty() &&
                           device.function == PciFunction::physical;
      if (port.link_layer == LinkLayer::infiniband || is_roce) ++count;
    }
  }
  return count;
}

/// A card that has fallen off the bus has no port that could be down.
void check_cards(const CheckedNodes& nodes, Findings& findings) {
  std::map<std::size_t, std::size_t> times;  // number of ports -> nodes
  std::size_t all = 0;
  for (const CheckedNode& node : nodes) {
    if (!node.failure.empty()) continue;
    ++times[rdma_ports(node)];
    ++all;
  }
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].failure.empty()) continue;
    const std::size_t own = rdma_ports(nodes[i]);
    for (const auto& [ports, count] : times) {
      const auto severity = judged(count, all - 1);
      if (ports <= own || !severity) continue;
      findings.push_back({*severity,
                          {i},
                          "rdma-ports",
                          "InfiniBand and RoCE ports: " + std::to_string(own) + ", " +
                              others_have(count) + ' ' + std::to_string(ports),
                          "a card may have fallen off the bus: lspci, dmesg"});
    }
  }
}

void check_same_ports(const CheckedNodes& nodes, Findings& findings) {
  std::map<std::string, std::vector<PortSeen>> ports;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].failure.empty()) continue;
    for (const RdmaDevice& device : nodes[i].facts.fabric.rdma) {
      // The Ethernet of a virtual machine is an RDMA device, too (plan/fabric_ports.h).
      for (const RdmaPort& port : device.ports) {
        if (port.link_layer == LinkLayer::infiniband)
          ports[name_of(FabricPort{&device, &port})].push_back(
              {i, &port, is_beside_a_gpu(nodes[i].facts, device)});
      }
    }
  }
  for (const auto& [name, seen] : ports) check_port(name, seen, findings);
}

}  // namespace

std::string others_have(std::size_t count) {
  return count == 1 ? "another node has" : "the other " + std::to_string(count) + " have";
}

void check_ports(const CheckedNodes& nodes, Findings& findings) {
  check_same_ports(nodes, findings);
  check_cards(nodes, findings);
}

}  // namespace dlaunch
