// An executable file from bytes that dlaunch carries.
#pragma once

#include <string>

#include "model/carried_program.h"
#include "model/result.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Unpacked into a file without a name (memfd_create(2)): no folder need take
/// programs, and none is left behind. It closes with an exec, which "/proc/self/fd/N" as the path
/// of an ELF file survives. `name` is what /proc shows. Errors: kPreflight.
[[nodiscard]] Result<UniqueFd> memory_program(const std::string& name,
                                              const CarriedProgram& program);

}  // namespace dlaunch
