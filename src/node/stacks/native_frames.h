// Names of functions of C, C++ and Fortran as people write them, and where such frames belong in
// the stack of a thread. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/stacks.h"

namespace dlaunch {

/// "dlaunch::Step::run" for _ZN7dlaunch4Step3runEi, "solver::step" for gfortran's
/// __solver_MOD_step; any other name as it is. Without parameters, result and
/// the version of a library.
[[nodiscard]] std::string function_name(std::string symbol);

/// Puts the frames (innermost first) between the kernel's and Python's; if there are Python frames,
/// only those up to the interpreter's innermost function. Leaves out what the C library does before
/// main or a thread's function, and all but one of consecutive functions without names of a file.
void add_native_frames(std::vector<StackFrame> frames, ThreadStack& thread);

}  // namespace dlaunch
