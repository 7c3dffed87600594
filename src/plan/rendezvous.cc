#include "plan/rendezvous.h"

#include <algorithm>

namespace dlaunch {

bool has_master(Framework framework) {
  return framework == Framework::pytorch || framework == Framework::gcp;
}

std::string address_of(const Node& node, std::size_t nodes) {
  if (nodes == 1) return "127.0.0.1";
  return node.address.empty() ? node.name : node.address;
}

Result<MasterPlan> choose_master(const RendezvousSpec& spec, const Cluster& cluster,
                                 std::size_t nodes) {
  const Node& first = cluster.nodes.front();
  MasterPlan master;
  if (spec.address != "auto" && !spec.address.empty()) {
    master.address = spec.address;
    master.reason = "rendezvous.address of the job";
  } else {
    master.address = address_of(first, nodes);
    master.reason = nodes == 1 ? "the only node" : "the first node";
  }
  if (spec.port == 0) {
    if (first.facts.reserved_ports.empty()) {
      return fail(exit_code::kPreflight,
                  "no free port was found on " + first.name + "; set rendezvous.port");
    }
    master.port = first.facts.reserved_ports.front();
    return master;
  }
  const auto& taken = first.facts.taken_ports;
  const auto found = std::find_if(taken.begin(), taken.end(),
                                  [&](const TakenPort& t) { return t.port == spec.port; });
  if (found != taken.end()) {
    return fail(exit_code::kPreflight,
                "port " + std::to_string(spec.port) + " on " + first.name + " is taken by " +
                    (found->holder.empty() ? "another process" : found->holder) +
                    "; use rendezvous.port: auto");
  }
  master.port = spec.port;
  return master;
}

}  // namespace dlaunch
