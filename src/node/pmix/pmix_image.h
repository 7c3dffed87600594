// The program dlaunch-pmix, which needs libpmix.so.2 on a node; dlaunch itself does not.
#pragma once

#include "model/carried_program.h"

namespace dlaunch::pmix {

/// The image with number 0; empty if OpenPMIx was not installed when dlaunch was built.
[[nodiscard]] CarriedProgram helper_image(std::size_t number = 0);

}  // namespace dlaunch::pmix
