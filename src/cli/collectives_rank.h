// The program of measuring ranks, whichever way this dlaunch has it: carried as bytes
// (collectives_carried.cc), or linked (collectives_linked.cc; CMake option
// DLAUNCH_LINK_COLLECTIVES).
#pragma once

#include <string>
#include <vector>

#include "model/result.h"
#include "plan/measured_job.h"

namespace dlaunch {

/// Whether this dlaunch was built with it; not for MeasureBackend::automatic.
[[nodiscard]] bool is_built_in(MeasureBackend backend);

/// What it would use here: "Open MPI v4.1.4", "NCCL 2.28.9". Errors: kPreflight, one line that
/// names the library that is missing on this node and what to install.
[[nodiscard]] Result<std::string> probe_collectives(MeasureBackend backend);

/// Becomes the program, or runs it, with these words (collectives/program/program.h); the exit
/// code. Says on stderr which library the dynamic linker
/// misses.
[[nodiscard]] int run_collectives(MeasureBackend backend, const std::vector<std::string>& words);

}  // namespace dlaunch
