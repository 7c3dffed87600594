// Asks nvidia-smi and the kernel's log how the GPUs of this machine are.
#pragma once

#include <chrono>

#include "report/machine_info.h"

namespace dlaunch {

/// Fills what MachineInfo has for health and faults; takes at most `limit` (at least 1 s) where
/// nvidia-smi hangs, as it does when a GPU has fallen off the bus. Nothing is asked where there are
/// no GPUs.
void add_gpu_health(MachineInfo& info, std::chrono::seconds limit);

}  // namespace dlaunch
