// Addresses of node 0 at which the ranks could meet, best first. Probing (plan/reach.h) shows which
// of them the other nodes reach.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

struct Candidate {
  std::string address;
  std::string reason;             // "eth0, the fastest subnet that both nodes share"
  bool is_own = true;             // an interface of node 0 has it; false: translated by the network
  bool is_ip = true;              // false: a host name from the job, which only ranks resolve
  std::vector<NodeRoute> routes;  // index = NodeRank; empty parts: unknown
  bool operator==(const Candidate&) const = default;
};

/// The number of candidates to try.
inline constexpr std::size_t kMostCandidates = 8;

/// Candidates of node 0 for a job on all nodes of the cluster, two or more, in this order:
/// `rendezvous.address` (then the only one); node 0's `address` in `hosts`; 127.0.0.1 if all nodes
/// have the same interfaces and so may be one machine; addresses in subnets that all nodes share,
/// by their slowest link, fastest first and unknown last; addresses that need routing; addresses of
/// tunnels and of bridges without an outside port; 169.254.0.0/16. Never: loopback, docker0 and
/// similar bridges, interfaces that are down, IPv6 link-local addresses (they need a scope),
/// addresses that another node has, too. `rendezvous.interface` limits the choice on every node:
/// names ("eth0,ens*"), subnets ("10.1.0.0/16"), or exclusions ("^eth1"). Errors
/// (exit_code::kPreflight): a node has no interface left.
[[nodiscard]] Result<std::vector<Candidate>> rendezvous_candidates(const RendezvousSpec&,
                                                                   const Cluster&);

/// "both nodes", "all 4 nodes".
[[nodiscard]] std::string all_nodes(std::size_t nodes);

}  // namespace dlaunch
