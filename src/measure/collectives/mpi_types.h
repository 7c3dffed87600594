// Maps this library's data types and reductions to MPI's, and supplies those that MPI 3.1 lacks.
#ifndef DLAUNCH_COLLECTIVES_MPI_TYPES_H
#define DLAUNCH_COLLECTIVES_MPI_TYPES_H

#include <array>
#include <cstddef>

#include <mpi.h>

#include "dlaunch/collectives/types.h"

namespace dlaunch::collectives {

/// Indexed by our enumerators. Tables, because a switch is noticeable in a call of 100 ns.
struct MpiNames {
  /// 16-bit floating-point numbers are MPI_UINT16_T, with operations of our own.
  std::array<MPI_Datatype, kDataTypeCount> types{};
  /// For an average the sum, which divide() completes.
  std::array<std::array<MPI_Op, kReduceOpCount>, kDataTypeCount> ops{};

  [[nodiscard]] MPI_Datatype type(DataType type) const noexcept {
    return types[static_cast<std::size_t>(type)];
  }
  [[nodiscard]] MPI_Op op(DataType type, ReduceOp op) const noexcept {
    return ops[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
  }
};

/// Call after MPI_Init.
MpiNames make_mpi_names();

/// Call before MPI_Finalize, once the last communicator is gone.
void free_mpi_names(MpiNames& names);

/// Divides each element by `size`.
void divide(void* elements, std::size_t count, DataType type, int size);

}  // namespace dlaunch::collectives

#endif
