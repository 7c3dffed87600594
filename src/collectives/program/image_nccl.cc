#include <cstddef>

#include "collectives/program/image.h"

// DLAUNCH_COLLECTIVES_FILE: the program, built before this file (CMakeLists.txt).
__asm__(
    ".section .rodata\n"
    ".global dlaunch_collectives_nccl_begin\n"
    ".balign 16\n"
    "dlaunch_collectives_nccl_begin:\n"
    ".incbin \"" DLAUNCH_COLLECTIVES_FILE
    "\"\n"
    ".global dlaunch_collectives_nccl_end\n"
    "dlaunch_collectives_nccl_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" {
extern const char dlaunch_collectives_nccl_begin[];
extern const char dlaunch_collectives_nccl_end[];
}

namespace dlaunch::collectives {

std::string_view nccl_image() {
  return {dlaunch_collectives_nccl_begin,
          static_cast<std::size_t>(dlaunch_collectives_nccl_end - dlaunch_collectives_nccl_begin)};
}

}  // namespace dlaunch::collectives
