// Our types and operations as MPI's, with what MPI 3.1 lacks.
#ifndef DLAUNCH_COLLECTIVES_MPI_TYPES_H
#define DLAUNCH_COLLECTIVES_MPI_TYPES_H

#include <cstddef>

#include <mpi.h>

#include "dlaunch/collectives/types.h"

namespace dlaunch::collectives {

/// After MPI_Init. 16-bit numbers are MPI_UINT16_T, with operations of our own.
MPI_Datatype mpi_type(DataType type);

/// Of an average: the sum, which divide() completes.
MPI_Op mpi_op(DataType type, ReduceOp op);

/// Divides each element by `size`.
void divide(void* elements, std::size_t count, DataType type, int size);

/// After MPI_Init, before the first reduction.
void make_mpi_ops();

/// Before MPI_Finalize, when the last communicator is gone.
void free_mpi_ops();

}  // namespace dlaunch::collectives

#endif
