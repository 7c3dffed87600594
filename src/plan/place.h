// Assigns ranks to nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/ids.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

struct PlacedRole {
  std::string name;                // if the job has no roles: "default", "chief" or "worker"
  const RoleSpec* spec = nullptr;  // in the JobSpec; nullptr if the job has no roles
  std::uint32_t size = 0;
};

struct PlacedRank {
  NodeRank node;
  LocalRank local_rank;
  std::uint32_t role = 0;  // index into Placement::roles
  std::uint32_t role_rank = 0;
};

struct Placement {
  std::vector<PlacedRole> roles;        // chief, worker, ps, evaluator
  std::vector<PlacedRank> ranks;        // index = Rank: by role, node-major within each role
  std::vector<std::uint32_t> nodes;     // index = NodeRank: which of Cluster::nodes the job uses
  std::vector<std::uint32_t> per_node;  // index = NodeRank: ranks on each node that has any
  std::size_t nodes_available = 0;      // how many of the requested nodes are available
  std::vector<std::uint32_t> slots;     // with launch: once, processes of each node of the job
};

/// `gpus` is the number of GPUs that the ranks of each node may use. The rules:
/// - nodes: the first `nodes` of the hosts, all hosts by default, at least nodes.min if elastic.
/// - processes_per_node: auto is one per GPU, or on a node without GPUs one per slot, else 1; never
///   more than the slots.
/// - processes: if any host has slots, hosts are filled in order, as mpirun does with a host list;
///   a host without slots then counts one per GPU, else 1. If no host has slots, ranks are spread
///   evenly, the extra ones on the first nodes, and no node gets more ranks than GPUs while another
///   has free GPUs.
/// - roles: chief and worker tasks, in this order, are placed as if their sum were `processes`; ps
///   tasks are spread evenly; the evaluator goes to the node with the most free GPUs, or, if there
///   are none, to the one with the fewest tasks; a role with its own `nodes` is spread evenly over
///   the first of the nodes.
/// - placement: spread: no node gets a second rank while another has none, regardless of slots; ps
///   tasks and the evaluator go to the nodes with the fewest tasks.
/// - per-node: one rank on each node.
/// - once: one rank on the first node; `slots` has the numbers of processes by the rules above.
/// - gcp without roles: one process per node, or `processes`; the first is the chief, the others
///   are workers.
/// Errors (exit_code::kJobFile) name the number that does not fit.
[[nodiscard]] Result<Placement> place(const JobSpec&, const Cluster&,
                                      const std::vector<std::uint32_t>& gpus);

}  // namespace dlaunch
