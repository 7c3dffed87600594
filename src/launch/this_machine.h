// This machine as node_targets() wants to know it.
#pragma once

#include "launch/node_targets.h"

namespace dlaunch {

[[nodiscard]] OwnMachine this_machine();

}  // namespace dlaunch
