// An executable file from bytes that dlaunch carries.
#pragma once

#include <string>

#include "model/carried_program.h"
#include "model/result.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// An empty, unnamed file (memfd_create(2)) for a program: it needs no folder that allows
/// execution, and leaves nothing behind. It is close-on-exec; an ELF file can still be executed by
/// its path_of(). `name` is what /proc shows. Errors: kPreflight.
[[nodiscard]] Result<UniqueFd> memory_file(const std::string& name);

/// The same with the program unpacked into it.
[[nodiscard]] Result<UniqueFd> memory_program(const std::string& name,
                                              const CarriedProgram& program);

/// Path for execve(2), valid as long as this process has the file open, and also in children that
/// close it.
[[nodiscard]] std::string path_of(const UniqueFd& program);

}  // namespace dlaunch
