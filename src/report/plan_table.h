// The table of ranks of `dlaunch plan`. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "model/cluster.h"
#include "model/launch_plan.h"

namespace dlaunch {

/// If there are more ranks than this, the table has only the first and last ranks of each node, and
/// only the first and last nodes.
inline constexpr std::size_t kAllRanks = 64;
inline constexpr std::size_t kFirst = 8, kLast = 2;

/// A line for each rank with its node, GPU, cores and NUMA nodes.
void add_rank_table(std::string& out, const LaunchPlan& plan, const Cluster& cluster);

}  // namespace dlaunch
