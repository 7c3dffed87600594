// Nodes that are one machine: by mistake, where a host list names it twice, or on purpose, where
// `connect.via: local` starts several agents here. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch {

/// By what their agents report: the same kernel, boot, namespaces, host name and IPv4 addresses.
/// False where that is not known.
[[nodiscard]] bool is_same_machine(const NodeFacts&, const NodeFacts&);

/// exit_code::kJobFile when two hosts are one machine and that was not asked for: ranks of both
/// would begin at LOCAL_RANK 0 and use the same GPUs.
[[nodiscard]] Status check_machines(const JobSpec&, const Cluster&);

/// What one node has of the machine that it shares with others; the rest is set where nodes > 1.
struct MachineShare {
  std::uint32_t nodes = 1;    // with ranks, on this machine; 1: it has the machine to itself
  std::uint32_t ranks = 0;    // of all of them
  std::size_t cores = 0;      // of the machine that are free
  std::vector<CpuCore> mine;  // where nodes > 1: its own part of the free cores, at least one for
                              // each of its ranks; empty when there are fewer than ranks
  bool operator==(const MachineShare&) const = default;
};

/// index = node, as many as `ranks_of_node`. Parts are contiguous and as large as ranks demand.
[[nodiscard]] std::vector<MachineShare> share_machines(
    const Cluster&, const std::vector<std::uint32_t>& ranks_of_node);

/// The cluster in which each node has only its own part of a machine that it shares; nullopt: no
/// machine is shared.
[[nodiscard]] std::optional<Cluster> with_shares(const Cluster&, const std::vector<MachineShare>&);

/// The note on the binding of a node that shares its machine, from the one on its own part.
[[nodiscard]] std::string note_of_share(const MachineShare&, const std::string& note);

}  // namespace dlaunch
