// Ranks to nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/ids.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

struct PlacedRole {
  std::string name;                // "default", "chief" or "worker" when the job has no roles
  const RoleSpec* spec = nullptr;  // into the JobSpec; nullptr when the job has no roles
  std::uint32_t size = 0;
};

struct PlacedRank {
  NodeIndex node;
  LocalRank local_rank;
  std::uint32_t role = 0;  // index into Placement::roles
  std::uint32_t role_rank = 0;
};

struct Placement {
  std::vector<PlacedRole> roles;  // chief, worker, ps, evaluator
  std::vector<PlacedRank> ranks;  // index = Rank: by role, node-major within each role
  std::vector<std::uint32_t>
      per_node;  // ranks on each node that is used; the used nodes are the first ones
  std::size_t nodes_available = 0;   // of those asked for
  std::vector<std::uint32_t> slots;  // launch: once: processes that each node of the job is for
};

/// `gpus` holds the number of GPUs that the ranks of each node may use. The rules:
/// - nodes: the first `nodes` of the hosts, all hosts if not given, at least nodes.min if elastic.
/// - processes_per_node: auto is one per GPU, on a node without GPUs its slots, else 1; never more
/// than the slots.
/// - processes: where any host has slots, hosts are filled in order, one without slots counting as
/// its GPUs, else 1
///   (as mpirun reads a host list); where none has, ranks are spread evenly, earlier nodes getting
///   the odd ones, and no node gets more ranks than GPUs while another one has GPUs left.
/// - roles: chief and worker tasks are placed like `processes` of their sum, in this order, ps
/// tasks spread evenly; the evaluator goes where most GPUs are left, else where fewest tasks are; a
/// role with `nodes` of its own is spread evenly over the first ones.
/// - placement: spread: no node gets a second rank while another has none, whatever its slots; ps
/// tasks and the evaluator go where fewest tasks are.
/// - per-node: one rank on each node.
/// - once: one rank on the first node; what the rules above give is in `slots`.
/// - gcp without roles: one process a node, or `processes`; the first is the chief, the others are
/// workers.
/// Errors (exit_code::kJobFile) say which number does not fit.
[[nodiscard]] Result<Placement> place(const JobSpec&, const Cluster&,
                                      const std::vector<std::uint32_t>& gpus);

}  // namespace dlaunch
