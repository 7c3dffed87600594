#include "plan/rendezvous.h"

#include <algorithm>
#include <utility>

#include "plan/candidates.h"

namespace dlaunch {

bool has_master(Framework framework) {
  return is_torch(framework) || framework == Framework::jax || framework == Framework::gcp ||
         uses_mpi(framework);
}

std::string address_of(const Node& node, std::size_t nodes) {
  if (nodes == 1) return "127.0.0.1";
  return node.address.empty() ? node.name : node.address;
}

Result<Meeting> choose_meeting(const RendezvousSpec& spec, const Cluster& cluster) {
  const std::size_t nodes = cluster.nodes.size();
  if (nodes == 1) {
    const bool is_chosen = spec.address != "auto" && !spec.address.empty();
    return Meeting{is_chosen ? spec.address : "127.0.0.1",
                   is_chosen ? "rendezvous.address of the job" : "the only node",
                   {}};
  }
  if (cluster.is_assumed && (spec.address == "auto" || spec.address.empty()))
    return Meeting{
        address_of(cluster.nodes.front(), nodes), "the first node; nothing was tried", {}};
  if (cluster.meeting && cluster.meeting->routes.size() == nodes) return *cluster.meeting;
  auto candidates = rendezvous_candidates(spec, cluster);
  if (!candidates) return tl::unexpected(candidates.error());
  Candidate& best = candidates->front();
  return Meeting{std::move(best.address), std::move(best.reason), std::move(best.routes)};
}

Result<MasterPlan> choose_master(const RendezvousSpec& spec, const Cluster& cluster,
                                 const Meeting& meeting) {
  const Node& first = cluster.nodes.front();
  MasterPlan master{meeting.address, 0, meeting.reason};
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
                    "; use rendezvous.port: auto (--set rendezvous.port=auto)");
  }
  master.port = spec.port;
  return master;
}

}  // namespace dlaunch
