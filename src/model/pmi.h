// What launcher and agents agree on about PMI-1, the protocol of MPICH (docs/mpi.md).
#pragma once

namespace dlaunch {

/// As which descriptor a rank finds the socket on which it speaks PMI-1 with its agent (PMI_FD):
/// above those that scripts use by number (0 to 9) and that shells take for themselves first (10).
inline constexpr int kPmiDescriptor = 29;

}  // namespace dlaunch
