// Readable names of C, C++ and Fortran functions, and where their frames belong in the stack of a
// thread. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/stacks.h"

namespace dlaunch {

/// "dlaunch::Step::run" for _ZN7dlaunch4Step3runEi, "solver::step" for gfortran's
/// __solver_MOD_step; any other name unchanged. Drops parameters, the result type and a library's
/// version.
[[nodiscard]] std::string function_name(std::string symbol);

/// Puts the frames (innermost first) between the kernel's and Python's; if there are Python frames,
/// only those inside the interpreter's innermost function. Leaves out frames of the C library
/// before main or a thread's function. Of consecutive unnamed functions of the same file, keeps
/// only one.
void add_native_frames(std::vector<StackFrame> frames, ThreadStack& thread);

}  // namespace dlaunch
