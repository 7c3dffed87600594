// Assigns tasks of roles to nodes: the part of place() for jobs with roles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/place.h"

namespace dlaunch {

using Counts = std::vector<std::uint32_t>;  // ranks or GPUs; index = node

/// The first nodes get the odd ones.
[[nodiscard]] Counts spread_evenly(std::uint32_t ranks, std::size_t nodes);

/// Those with a task, in the order of their ranks. Errors say which number cannot be.
[[nodiscard]] Result<std::vector<PlacedRole>> placed_roles(const JobSpec&);

/// Tasks of chief and workers, without those of a role that has nodes of its own.
[[nodiscard]] std::uint32_t pooled_tasks(const std::vector<PlacedRole>&);

/// Tasks of each role on each node. `pool`: where the pooled tasks are to be.
[[nodiscard]] Result<std::vector<Counts>> counts_of_roles(const std::vector<PlacedRole>&, Placing,
                                                          Counts pool, const Counts& gpus);

}  // namespace dlaunch
