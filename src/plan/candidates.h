// Where the ranks meet (MASTER_ADDR and MASTER_PORT), and the candidates for it: addresses of node
// 0, best first. Probing (plan/reach.h) shows which candidates the other nodes reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"

namespace dlaunch {

/// Whether ranks of this framework get a master. Ranks of `tensorflow` get TF_CONFIG instead, those
/// of `none` nothing.
[[nodiscard]] bool has_master(Framework);

/// The meeting of all nodes of the cluster: the probed one (Cluster::meeting), else the best
/// candidate without a probe. On a single node it is at 127.0.0.1, unless the job chooses an
/// address. Errors: as for rendezvous_candidates().
[[nodiscard]] Result<Meeting> choose_meeting(const RendezvousSpec&, const Cluster&);

/// The meeting's address and a port on node 0: the port that the job chooses, else the first that
/// the agent of node 0 holds. Errors (exit_code::kPreflight): the chosen port is taken, or the
/// agent holds none.
[[nodiscard]] Result<MasterPlan> choose_master(const RendezvousSpec&, const Cluster&,
                                               const Meeting&);

/// The address of a node for a job whose ranks are on `nodes` nodes.
[[nodiscard]] std::string address_of(const Node&, std::size_t nodes);

/// Mbit/s of the node's fastest network card among those that `rendezvous.interface` allows; 0:
/// unknown.
[[nodiscard]] std::uint32_t fastest_card(const RendezvousSpec&, const NodeFacts&);

/// Bridges that container engines and hypervisors create for the local machine only: docker0,
/// virbr0, cni0, ...
[[nodiscard]] bool is_host_internal(std::string_view name);

struct Candidate {
  std::string address;
  std::string reason;             // "eth0, the fastest subnet that both nodes share"
  bool is_own = true;             // an interface of node 0 has it; false: the network translates it
  bool is_ip = true;              // false: a host name from the job, which only ranks resolve
  std::vector<NodeRoute> routes;  // index = NodeRank; empty members: unknown
  bool operator==(const Candidate&) const = default;
};

/// The number of candidates to try.
inline constexpr std::size_t kMostCandidates = 8;

/// The candidates of node 0 for a job on all nodes of the cluster, which has two or more.
/// `rendezvous.address`, if set, is the only candidate; else they come in this order: node 0's
/// `address` in `hosts`; 127.0.0.1 if all nodes have the same interfaces and so may be one machine;
/// addresses in subnets that all nodes share, ordered by the slowest link of the subnet, fastest
/// first and unknown last; addresses that need routing; addresses of tunnels and of bridges without
/// an outside port; 169.254.0.0/16. Excluded are loopback, docker0 and similar bridges, interfaces
/// that are down, IPv6 link-local addresses (they need a scope), and addresses that another node
/// also has. `rendezvous.interface` limits the choice on every node: names ("eth0,ens*"), subnets
/// ("10.1.0.0/16"), or exclusions ("^eth1"). Errors (exit_code::kPreflight): no interface of a node
/// is left.
[[nodiscard]] Result<std::vector<Candidate>> rendezvous_candidates(const RendezvousSpec&,
                                                                   const Cluster&);

}  // namespace dlaunch
