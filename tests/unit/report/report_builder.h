// Reports and plans of small runs, for the tests of the summary.
#pragma once

#include <string>
#include <vector>

#include "model/launch_plan.h"
#include "model/report.h"

namespace dlaunch::testing_support {

inline const WallTime kStart{std::chrono::seconds(1795208502)};  // 2026-11-20 21:01:42 UTC

inline LaunchPlan make_plan(std::uint32_t nodes, std::uint32_t ranks_per_node) {
  LaunchPlan plan;
  plan.name = "cifar-ddp";
  plan.run_id = "20261120-210142-k3f";
  for (std::uint32_t n = 0; n < nodes; ++n) {
    NodePlan node;
    node.id = NodeId(n);
    node.name = "node" + std::to_string(n);
    for (std::uint32_t local = 0; local < ranks_per_node; ++local) {
      RankPlan rank;
      rank.rank = Rank(n * ranks_per_node + local);
      rank.node = NodeRank(n);
      rank.local_rank = LocalRank(local);
      node.ranks.push_back(rank.rank);
      plan.ranks.push_back(std::move(rank));
    }
    plan.nodes.push_back(std::move(node));
  }
  return plan;
}

/// A rank that ran from kStart until `after`.
inline RankEnd make_end(RankEnd::How how, ExitStatus status, std::chrono::milliseconds after) {
  RankEnd end;
  end.how = how;
  end.status = status;
  end.started = kStart;
  end.ended = kStart + after;
  return end;
}

inline ExitStatus code(int value) {
  return {false, value, false};
}
inline ExitStatus killed_by(int signal) {
  return {true, signal, false};
}

}  // namespace dlaunch::testing_support
