// This machine as node_targets() wants to know it.
#pragma once

#include "launch/connect/node_targets.h"

namespace dlaunch {

[[nodiscard]] OwnMachine this_machine();

}  // namespace dlaunch
