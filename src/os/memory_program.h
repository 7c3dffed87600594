// A program that is carried as bytes, as a file that can be executed.
#pragma once

#include <string>
#include <string_view>

#include "model/result.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// A file without a name (memfd_create(2)): no folder need take programs, and none is left behind.
/// It closes with an exec, which "/proc/self/fd/N" as the path of an ELF file survives. `name` is
/// what /proc shows. Errors: kPreflight.
[[nodiscard]] Result<UniqueFd> memory_program(const std::string& name, std::string_view bytes);

}  // namespace dlaunch
