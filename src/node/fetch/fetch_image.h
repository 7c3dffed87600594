// The program dlaunch-fetch (main.cc), which a node without dlaunch is sent to get it from another
// node.
#pragma once

#include "model/carried_program.h"

namespace dlaunch::fetch {

/// Number 0; empty where dlaunch was built for a processor that main.cc does not know.
[[nodiscard]] CarriedProgram image(std::size_t number = 0);

}  // namespace dlaunch::fetch
