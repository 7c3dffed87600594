// PMI-1, the protocol of MPICH: constants shared by launcher and agents
// (docs/how-to/run-mpi-programs.md).
#pragma once

namespace dlaunch {

/// The descriptor of a rank's PMI-1 socket to its agent (PMI_FD): above those that scripts use by
/// number (0 to 9) and that shells allocate first (10).
inline constexpr int kPmiDescriptor = 29;

}  // namespace dlaunch
