// What NCCL says while it starts (NCCL_DEBUG), kept in memory instead of on stdout, which is for
// records.
#pragma once

#include <string>

namespace dlaunch::collectives {

/// Before NCCL is loaded. Where the user has asked for NCCL's words, nothing is changed.
void keep_nccl_log();

/// What was said so far, at most 256 KiB of it; empty where it is not kept.
[[nodiscard]] std::string nccl_log();

}  // namespace dlaunch::collectives
