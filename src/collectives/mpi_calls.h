// A call as MPI's own, blocking or not.
#ifndef DLAUNCH_COLLECTIVES_MPI_CALLS_H
#define DLAUNCH_COLLECTIVES_MPI_CALLS_H

#include <array>

#include <mpi.h>

#include "collectives/call.h"

namespace dlaunch::collectives {

/// MPI's error code.
int run_blocking(const Call& call, MPI_Comm comm, int rank);

/// `requests`: those that were not begun stay MPI_REQUEST_NULL. MPI's error code.
int begin(const Call& call, MPI_Comm comm, int rank, std::array<MPI_Request, 2>& requests);

/// What is left to do with the result: an average is a sum so far, and MPI puts the result of a
/// reduce_scatter in place at the beginning of the buffer.
void complete(const Call& call, int rank, int size);

}  // namespace dlaunch::collectives

#endif
