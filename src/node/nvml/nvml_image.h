// The program dlaunch-nvml (main.cc), which needs NVIDIA's libnvidia-ml.so.1 on a node; dlaunch
// itself does not.
#pragma once

#include "model/carried_program.h"

namespace dlaunch::nvml {

/// The image with number 0; empty if dlaunch was built for a processor that main.cc does not know.
[[nodiscard]] CarriedProgram helper_image(std::size_t number = 0);

}  // namespace dlaunch::nvml
