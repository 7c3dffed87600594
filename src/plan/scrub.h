// What is removed from the environment that ranks inherit: the identity that an outer launcher gave
// to dlaunch itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

/// Names and patterns with '*', the same for every framework: under `srun dlaunch run ...` or in a
/// Kubeflow pod each rank would else believe that it is the one process that the outer launcher
/// started. What dlaunch sets itself is set after this, and so is what the user passes on by its
/// full name.
[[nodiscard]] const std::vector<std::string>& scrub_list();

[[nodiscard]] bool is_scrubbed(std::string_view name);

}  // namespace dlaunch
