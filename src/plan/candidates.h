// Where the ranks meet (MASTER_ADDR and MASTER_PORT), and the addresses of node 0 at which they
// could, best first. Probing (plan/reach.h) shows which of them the other nodes reach.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"

namespace dlaunch {

/// Whether ranks of this framework get a master (tensorflow has TF_CONFIG, none has nothing).
[[nodiscard]] bool has_master(Framework);

/// The meeting of all nodes of the cluster: the probed one (Cluster::meeting), else the best
/// candidate, without a probe. On one node 127.0.0.1, unless the job chose an address. Errors: as
/// rendezvous_candidates().
[[nodiscard]] Result<Meeting> choose_meeting(const RendezvousSpec&, const Cluster&);

/// The meeting's address and a port on node 0: the first that its agent holds, or the one that the
/// job chose. Errors (exit_code::kPreflight): the chosen port is taken, or no port is held.
[[nodiscard]] Result<MasterPlan> choose_master(const RendezvousSpec&, const Cluster&,
                                               const Meeting&);

/// The address of a node for ranks on `nodes` nodes.
[[nodiscard]] std::string address_of(const Node&, std::size_t nodes);

/// Bridges that container engines and hypervisors create for the local machine only: docker0,
/// virbr0, cni0, ...
[[nodiscard]] bool is_host_internal(std::string_view name);

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

}  // namespace dlaunch
