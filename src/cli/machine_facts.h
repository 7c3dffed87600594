// Reads what this machine has, or one that a folder stands for.
#pragma once

#include "report/machine_info.h"

namespace dlaunch {

/// Fills info.facts from what is below info.root; empty: this machine.
void read_machine(MachineInfo& info);

}  // namespace dlaunch
