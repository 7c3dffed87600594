// The program dlaunch-fetch (main.cc), which is sent to a node without dlaunch and gets dlaunch
// from another node.
#pragma once

#include "model/carried_program.h"

namespace dlaunch::fetch {

/// The image with number 0; empty if dlaunch was built for a processor that main.cc does not know.
[[nodiscard]] CarriedProgram image(std::size_t number = 0);

}  // namespace dlaunch::fetch
