// Keeps what NCCL logs while it starts (NCCL_DEBUG) in memory, to find out which network it uses.
#pragma once

#include <string>

namespace dlaunch::collectives {

/// To be called before NCCL is loaded. Overrides NCCL_DEBUG, NCCL_DEBUG_SUBSYS and NCCL_DEBUG_FILE:
/// a lower level would hide the network, and the user's log file stays unchanged.
void keep_nccl_log();

/// The log so far, at most 256 KiB; empty where it is not kept.
[[nodiscard]] std::string nccl_log();

}  // namespace dlaunch::collectives
