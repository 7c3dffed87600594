// Detects nodes that are one machine: accidentally, because a host list names it twice, or
// intentionally, with several agents of `connect.via: local`. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// Compares what their agents report: kernel, boot, namespaces, host name and IPv4 addresses. False
/// if unknown.
[[nodiscard]] bool is_same_machine(const NodeFacts&, const NodeFacts&);

/// exit_code::kJobFile if two hosts are unintentionally one machine: ranks of both would begin at
/// LOCAL_RANK 0 and use the same GPUs.
[[nodiscard]] Status check_machines(const JobSpec&, const Cluster&);

/// A node's share of a machine that it shares with others; the other members are set if nodes > 1.
struct MachineShare {
  std::uint32_t nodes = 1;    // nodes with ranks on this machine; 1: not shared
  std::uint32_t ranks = 0;    // of all these nodes
  std::size_t cores = 0;      // free cores of the machine
  std::vector<CpuCore> mine;  // where nodes > 1: its own part of the free cores, at least one for
                              // each of its ranks; empty: there are fewer cores than ranks
  bool operator==(const MachineShare&) const = default;
};

/// index = node, as many as `ranks_of_node`. Shares are contiguous and proportional to the ranks.
[[nodiscard]] std::vector<MachineShare> share_machines(
    const Cluster&, const std::vector<std::uint32_t>& ranks_of_node);

/// The cluster with each node's cores reduced to its share; nullopt: no machine is shared.
[[nodiscard]] std::optional<Cluster> with_shares(const Cluster&, const std::vector<MachineShare>&);

/// Extends a node's binding note, which is about its own share, for a shared machine.
[[nodiscard]] std::string note_of_share(const MachineShare&, const std::string& note);

}  // namespace dlaunch
