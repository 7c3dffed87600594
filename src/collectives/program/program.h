// The program of the ranks that measure.
#pragma once

#include <string>
#include <vector>

namespace dlaunch::collectives {

/// Loads the library of "mpi" or "nccl": "ready, Open MPI v4.1.4", or why it cannot be had.
[[nodiscard]] std::string version_line(const std::string& backend);

/// `words`: "--backend", "mpi" or "nccl", the mode's name, its settings (measure/settings.h); the
/// setting timeout_ms is the limit of each call (0, or not given: none). Or "--version" and "mpi"
/// or "nccl": prints version_line().
/// Returns the exit code: 0, kUsage, kPreflight where the back-end cannot be had, else 1.
[[nodiscard]] int run_program(const std::vector<std::string>& words);

}  // namespace dlaunch::collectives
