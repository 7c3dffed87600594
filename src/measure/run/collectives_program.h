// The program of measuring ranks, in either form: carried as bytes (collectives_program_carried.cc)
// or linked (collectives_program_linked.cc; CMake option DLAUNCH_LINK_COLLECTIVES).
#pragma once

#include <string>
#include <vector>

#include "measure/run/layout.h"
#include "model/result.h"

namespace dlaunch {

/// Whether this dlaunch was built with the back-end, which is not MeasureBackend::automatic.
[[nodiscard]] bool is_built_in(MeasureBackend backend);

/// The library that the back-end would use on this machine: "Open MPI v4.1.4", "NCCL 2.28.9".
/// Errors: kPreflight, with the library that is missing on this node and what to install.
[[nodiscard]] Result<std::string> probe_collectives(MeasureBackend backend);

/// Becomes the program with these arguments (measure/collectives/program/program.h), or calls it if
/// it is linked. Errors: kPreflight, with the library that the dynamic linker did not find.
[[nodiscard]] Result<int> run_collectives(MeasureBackend backend,
                                          const std::vector<std::string>& words);

}  // namespace dlaunch
