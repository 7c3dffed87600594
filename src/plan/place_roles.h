// Assigns role tasks to nodes: the part of place() for jobs with roles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/place.h"

namespace dlaunch {

using Counts = std::vector<std::uint32_t>;  // ranks or GPUs; index = node

/// Spreads ranks evenly; the first nodes get the extra ones.
[[nodiscard]] Counts spread_evenly(std::uint32_t ranks, std::size_t nodes);

/// Roles with at least one task, in the order of their ranks. Errors name the number that is not
/// possible.
[[nodiscard]] Result<std::vector<PlacedRole>> placed_roles(const JobSpec&);

/// Tasks of chief and workers, excluding roles with their own nodes.
[[nodiscard]] std::uint32_t pooled_tasks(const std::vector<PlacedRole>&);

/// Tasks of each role on each node. `pool`: the nodes of the pooled tasks.
[[nodiscard]] Result<std::vector<Counts>> counts_of_roles(const std::vector<PlacedRole>&, Placing,
                                                          Counts pool, const Counts& gpus);

}  // namespace dlaunch
