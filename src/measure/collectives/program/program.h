// The program of measuring ranks.
#pragma once

#include <string>
#include <vector>

namespace dlaunch::collectives {

/// Keeps what NCCL logs while it starts (NCCL_DEBUG) in memory, to find out which network it uses.
/// Call before NCCL is loaded. Overrides NCCL_DEBUG, NCCL_DEBUG_SUBSYS and NCCL_DEBUG_FILE: a lower
/// level would hide the network, and the user's log file stays unchanged.
void keep_nccl_log();

/// The log so far, at most 256 KiB; empty if it is not kept.
[[nodiscard]] std::string nccl_log();

/// Loads the library of "mpi" or "nccl": "ready, Open MPI v4.1.4", or why it cannot be loaded.
[[nodiscard]] std::string version_line(const std::string& backend);

/// `words`: "--backend", "mpi" or "nccl", the mode's name, its settings
/// (measure/figures/settings.h); timeout_ms limits each call (0 or missing: no limit). Or
/// "--version" and "mpi" or "nccl": prints version_line(). Returns the exit code: 0, kUsage,
/// kPreflight if the back-end cannot be used, else 1.
[[nodiscard]] int run_program(const std::vector<std::string>& words);

}  // namespace dlaunch::collectives
