// What NCCL and UCX are told about the network that the agents found. Pure. Where nothing is sure,
// nothing is set: these libraries look for themselves, too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/cluster.h"

namespace dlaunch {

struct FabricSetting {
  std::string value;
  std::string reason;  // one sentence, for `dlaunch plan`
  bool operator==(const FabricSetting&) const = default;
};

/// Sources: NVIDIA, NCCL, "Environment Variables"; OpenUCX, "Frequently Asked Questions", "Which
/// network devices does UCX use?"
struct NodeFabric {
  /// "=mlx5_0:1,mlx5_3:1". "=": names as they are, where "mlx5_1" alone would also mean mlx5_10.
  std::optional<FabricSetting> nccl_ib_hca;
  /// Over RoCE, where all chosen ports have their routable address at one index: NCCL before 2.21
  /// takes the first, which is not.
  std::optional<FabricSetting> nccl_ib_gid_index;
  /// InfiniBand only: over RoCE, UCX would be left without TCP.
  std::optional<FabricSetting> ucx_net_devices;
  bool operator==(const NodeFabric&) const = default;
};

struct FabricPlan {
  std::vector<NodeFabric> nodes;   // index = NodeIndex
  std::vector<std::string> notes;  // for the user, one sentence each
  bool operator==(const FabricPlan&) const = default;
};

/// For the first `nodes` nodes, which the job uses. All empty on a single node, where no such
/// network is on the way, and where some nodes have one and others have not: then a note says so.
/// `has_topology`: the job sets NCCL_TOPO_FILE for all of them, or may in a file that only they
/// see.
[[nodiscard]] FabricPlan plan_fabric(const Cluster& cluster, std::size_t nodes, bool has_topology);

}  // namespace dlaunch
