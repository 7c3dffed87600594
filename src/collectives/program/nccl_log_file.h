// What NCCL says while it starts (NCCL_DEBUG), kept in memory to be read: which network it uses.
#pragma once

#include <string>

namespace dlaunch::collectives {

/// Before NCCL is loaded. Sets NCCL_DEBUG, NCCL_DEBUG_SUBSYS and NCCL_DEBUG_FILE, whatever the user
/// has: less would hide the network, and a file of the user's is not for this.
void keep_nccl_log();

/// What was said so far, at most 256 KiB of it; empty where it is not kept.
[[nodiscard]] std::string nccl_log();

}  // namespace dlaunch::collectives
