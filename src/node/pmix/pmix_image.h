// The program dlaunch-pmix, which needs libpmix.so.2 on a node; dlaunch does not.
#pragma once

#include "model/carried_program.h"

namespace dlaunch::pmix {

/// Number 0; empty where OpenPMIx was not there when dlaunch was built.
[[nodiscard]] CarriedProgram helper_image(std::size_t number = 0);

}  // namespace dlaunch::pmix
