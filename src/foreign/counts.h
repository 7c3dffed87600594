// Slurm's short form for a number on each node: "2(x3),1" is 2 2 2 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace dlaunch::foreign {

/// SLURM_TASKS_PER_NODE and its like (srun(1), "OUTPUT ENVIRONMENT VARIABLES"); nullopt for
/// anything else, and for more than 65,536 nodes.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> expand_counts(std::string_view text);

}  // namespace dlaunch::foreign
