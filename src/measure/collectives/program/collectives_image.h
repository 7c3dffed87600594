// The program of measuring ranks. There are two, since one needs libmpi on a node and the other
// does not; dlaunch itself needs neither.
#pragma once

#include "model/carried_program.h"

namespace dlaunch::collectives {

/// 0: dlaunch-collectives-mpi, empty if there was no MPI when dlaunch was built. 1:
/// dlaunch-collectives-nccl, which loads libnccl.so.2 by itself; empty without NCCL or CUDA
/// toolkit.
[[nodiscard]] CarriedProgram image(std::size_t number);

}  // namespace dlaunch::collectives
