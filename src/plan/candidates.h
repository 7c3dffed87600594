// At which addresses of node 0 the ranks could meet. Which of them the other nodes reach is found
// out by trying (plan/reach.h); this is the list to try, best first.
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
  bool is_own = true;             // an interface of node 0 has it; else it is translated on the way
  bool is_ip = true;              // false: a host name that the job gave, which only ranks resolve
  std::vector<NodeRoute> routes;  // index = NodeIndex; empty parts where nothing is known yet
  bool operator==(const Candidate&) const = default;
};

/// At most this many are tried.
inline constexpr std::size_t kMostCandidates = 8;

/// Candidates of node 0 for a job on the first `nodes` nodes, two or more. In this order:
/// `rendezvous.address` (then it is the only one); node 0's `address` in `hosts`; 127.0.0.1 when
/// all nodes have the same interfaces, because then they may be one machine; addresses in
/// subnets that all nodes share, by the slowest link of each, fastest first and unknown last;
/// addresses that must be routed; those of tunnels and of bridges that nothing outside is a part
/// of; 169.254.0.0/16. Never: loopback, docker0 and its like, interfaces that are down, IPv6
/// link-local addresses (they need a scope), an address that another node has, too.
/// `rendezvous.interface` limits the choice on every node: names ("eth0,ens*"), subnets
/// ("10.1.0.0/16"), or what to leave out ("^eth1"). Errors (exit_code::kPreflight): a node has no
/// interface left.
[[nodiscard]] Result<std::vector<Candidate>> rendezvous_candidates(const RendezvousSpec&,
                                                                   const Cluster&,
                                                                   std::size_t nodes);

/// "both nodes", "all 4 nodes".
[[nodiscard]] std::string all_nodes(std::size_t nodes);

}  // namespace dlaunch
