// NCCL and UCX settings derived from the network that the agents found. Pure. In doubtful cases
// nothing is set, because these libraries also detect the network themselves.
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
  /// "=mlx5_0:1,mlx5_3:1". "=" means exact names; otherwise "mlx5_1" would also match mlx5_10.
  std::optional<FabricSetting> nccl_ib_hca;
  /// Set over RoCE if all chosen ports have their routable address at the same index: NCCL before
  /// 2.21 uses index 0, which is not routable.
  std::optional<FabricSetting> nccl_ib_gid_index;
  /// Set over InfiniBand only: over RoCE, it would disable TCP in UCX.
  std::optional<FabricSetting> ucx_net_devices;
  bool operator==(const NodeFabric&) const = default;
};

struct FabricPlan {
  std::vector<NodeFabric> nodes;   // index = NodeRank
  std::vector<std::string> notes;  // for the user, one sentence each
  bool operator==(const FabricPlan&) const = default;
};

/// For the first `nodes` nodes, which are those that the job uses. Empty on a single node, without
/// InfiniBand and RoCE, and if only some nodes have such a network, which a note reports.
/// `has_topology`: the job sets NCCL_TOPO_FILE for all nodes, or may do so in a file that only the
/// nodes see.
[[nodiscard]] FabricPlan plan_fabric(const Cluster& cluster, std::size_t nodes, bool has_topology);

}  // namespace dlaunch
