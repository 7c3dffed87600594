// Identifies this binary, to tell whether a node already has it.
#pragma once

#include <string>

namespace dlaunch {

/// The linker's build id (ELF note NT_GNU_BUILD_ID, ld(1) --build-id) in hex, or "unknown".
[[nodiscard]] std::string own_build_id();

}  // namespace dlaunch
