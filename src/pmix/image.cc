#include "pmix/image.h"

#include <cstddef>

// DLAUNCH_PMIX_FILE: the program, built before this file (CMakeLists.txt).
__asm__(
    ".section .rodata\n"
    ".global dlaunch_pmix_begin\n"
    ".balign 16\n"
    "dlaunch_pmix_begin:\n"
    ".incbin \"" DLAUNCH_PMIX_FILE
    "\"\n"
    ".global dlaunch_pmix_end\n"
    "dlaunch_pmix_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" {
extern const char dlaunch_pmix_begin[];
extern const char dlaunch_pmix_end[];
}

namespace dlaunch::pmix {

std::string_view helper_image() {
  return {dlaunch_pmix_begin, static_cast<std::size_t>(dlaunch_pmix_end - dlaunch_pmix_begin)};
}

}  // namespace dlaunch::pmix
