// Reads what this machine has, or a machine whose /sys, /proc and /dev were copied to a folder.
#pragma once

#include <chrono>

#include "measure/info/machine_info.h"

namespace dlaunch {

/// Fills info.facts from the files below info.root; empty: this machine.
void read_machine(MachineInfo& info);

/// Fills health and faults of `info` from nvidia-smi and the kernel log of this machine. Takes at
/// most `limit` (at least 1 s) if nvidia-smi hangs, as it does when a GPU has fallen off the bus.
/// Does nothing if info.facts has no GPU.
void add_gpu_health(MachineInfo& info, std::chrono::seconds limit);

}  // namespace dlaunch
