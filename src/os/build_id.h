// The identity of this very binary, for telling whether a node already has it.
#pragma once

#include <string>

namespace dlaunch {

/// The linker's build id (ELF note NT_GNU_BUILD_ID, ld(1) --build-id) in hex; "unknown" if there is
/// none.
[[nodiscard]] std::string own_build_id();

}  // namespace dlaunch
