// An executable file from bytes that dlaunch carries.
#pragma once

#include <string>

#include "model/carried_program.h"
#include "model/result.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Unpacked into an unnamed file (memfd_create(2)): needs no folder from which programs may be
/// executed, and leaves nothing behind. It is close-on-exec; executing "/proc/self/fd/N" still
/// works for an ELF file. `name` is what /proc shows. Errors: kPreflight.
[[nodiscard]] Result<UniqueFd> memory_program(const std::string& name,
                                              const CarriedProgram& program);

}  // namespace dlaunch
