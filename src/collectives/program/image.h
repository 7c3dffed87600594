// The program of measuring ranks as bytes: dlaunch carries it, so that it is on every node on which
// dlaunch is, of the same build. Two of them, since the one needs libmpi there and the other does
// not; dlaunch itself needs neither.
#pragma once

#include <string_view>

namespace dlaunch::collectives {

/// dlaunch-collectives-mpi. Empty: there was no MPI when dlaunch was built.
[[nodiscard]] std::string_view mpi_image();
/// dlaunch-collectives-nccl; loads libnccl.so.2 by itself. Empty: there was no NCCL, or no CUDA
/// toolkit, when dlaunch was built.
[[nodiscard]] std::string_view nccl_image();

}  // namespace dlaunch::collectives
