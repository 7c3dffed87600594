// Detects nodes that are the same machine: by accident, because a host list names the machine
// twice, or on purpose, because `connect.via: local` starts several agents. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// Compares what the agents of both nodes report: kernel, boot, namespaces, host name and IPv4
/// addresses. False if unknown.
[[nodiscard]] bool is_same_machine(const NodeFacts&, const NodeFacts&);

/// exit_code::kJobFile if two hosts are accidentally the same machine: the ranks of both would
/// begin at LOCAL_RANK 0 and use the same GPUs.
[[nodiscard]] Status check_machines(const JobSpec&, const Cluster&);

/// A node's share of a machine. All members except `nodes` are set only if nodes > 1.
struct MachineShare {
  std::uint32_t nodes = 1;    // nodes with ranks on this machine; 1: not shared
  std::uint32_t ranks = 0;    // on all these nodes
  std::size_t cores = 0;      // free cores of the machine
  std::vector<CpuCore> mine;  // this node's part of the free cores, at least one for each of its
                              // ranks; empty: there are fewer cores than ranks
  bool operator==(const MachineShare&) const = default;
};

/// index = node, as many as `ranks_of_node`. Shares are contiguous and proportional to the ranks.
[[nodiscard]] std::vector<MachineShare> share_machines(
    const Cluster&, const std::vector<std::uint32_t>& ranks_of_node);

/// The cluster with each node's cores reduced to its share; nullopt: no machine is shared.
[[nodiscard]] std::optional<Cluster> with_shares(const Cluster&, const std::vector<MachineShare>&);

/// Extends a node's binding note, which describes only the node's own share, if the machine is
/// shared.
[[nodiscard]] std::string note_of_share(const MachineShare&, const std::string& note);

}  // namespace dlaunch
