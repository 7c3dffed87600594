// The program dlaunch-fetch (main.cc), which is sent to a node without dlaunch so that the node
// gets dlaunch from another one.
#pragma once

#include "model/carried_program.h"

namespace dlaunch::fetch {

/// Number 0; empty if dlaunch was built for a processor that main.cc does not know.
[[nodiscard]] CarriedProgram image(std::size_t number = 0);

}  // namespace dlaunch::fetch
