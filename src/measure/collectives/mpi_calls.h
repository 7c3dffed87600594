// Runs a call by MPI, blocking or non-blocking.
#ifndef DLAUNCH_COLLECTIVES_MPI_CALLS_H
#define DLAUNCH_COLLECTIVES_MPI_CALLS_H

#include <array>

#include <mpi.h>

#include "measure/collectives/call.h"
#include "measure/collectives/mpi_types.h"

namespace dlaunch::collectives {

/// Blocks until the result is complete. Returns MPI's error code.
int run_blocking(const Call& call, const MpiNames& names, MPI_Comm comm, int rank, int size);

/// Starts the call. `requests` that are not needed stay MPI_REQUEST_NULL. Returns MPI's error code.
int begin(const Call& call, const MpiNames& names, MPI_Comm comm, int rank,
          std::array<MPI_Request, 2>& requests);

/// Whether complete() has to finish this rank's result: MPI computes an average only as a sum, and
/// leaves the result of a reduce_scatter in place at the beginning of the buffer.
inline bool is_incomplete(const Call& call, Call::Kind kind, int rank) noexcept {
  const bool has_result = kind == Call::Kind::all_reduce || kind == Call::Kind::reduce_scatter ||
                          (kind == Call::Kind::reduce && rank == call.root);
  if (!has_result || call.count == 0) return false;
  return call.op == ReduceOp::avg ||
         (kind == Call::Kind::reduce_scatter && in_place(call, kind, rank));
}

/// Whether host code touches the elements, in complete() or in reductions of 16-bit numbers. Then
/// device buffers cannot be used, even with an MPI that takes them.
inline bool needs_host(const Call& call, int rank) noexcept {
  const bool reduces = call.kind == Call::Kind::reduce || call.kind == Call::Kind::all_reduce ||
                       call.kind == Call::Kind::reduce_scatter;
  const bool has_16_bits = call.type == DataType::float16 || call.type == DataType::bfloat16;
  return reduces &&
         (has_16_bits || call.op == ReduceOp::avg || is_incomplete(call, call.kind, rank));
}

/// Finishes the result where is_incomplete() says so.
void complete(const Call& call, int rank, int size);

}  // namespace dlaunch::collectives

#endif
