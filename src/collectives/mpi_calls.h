// A call as MPI's own, blocking or not.
#ifndef DLAUNCH_COLLECTIVES_MPI_CALLS_H
#define DLAUNCH_COLLECTIVES_MPI_CALLS_H

#include <array>

#include <mpi.h>

#include "collectives/call.h"
#include "collectives/mpi_types.h"

namespace dlaunch::collectives {

/// With its result complete. MPI's error code.
int run_blocking(const Call& call, const MpiNames& names, MPI_Comm comm, int rank, int size);

/// `requests`: those that were not begun stay MPI_REQUEST_NULL. MPI's error code.
int begin(const Call& call, const MpiNames& names, MPI_Comm comm, int rank,
          std::array<MPI_Request, 2>& requests);

/// Whether something is left to do with this rank's result: an average is a sum so far, and MPI
/// puts the result of a reduce_scatter in place at the beginning of the buffer.
inline bool is_incomplete(const Call& call, Call::Kind kind, int rank) noexcept {
  const bool has_result = kind == Call::Kind::all_reduce || kind == Call::Kind::reduce_scatter ||
                          (kind == Call::Kind::reduce && rank == call.root);
  if (!has_result || call.count == 0) return false;
  return call.op == ReduceOp::avg ||
         (kind == Call::Kind::reduce_scatter && in_place(call, kind, rank));
}

/// Whether the host reads or writes elements itself, so that device buffers cannot be given to an
/// MPI that takes them: what complete() does, and operations of our own (16-bit numbers).
inline bool needs_host(const Call& call, int rank) noexcept {
  const bool reduces = call.kind == Call::Kind::reduce || call.kind == Call::Kind::all_reduce ||
                       call.kind == Call::Kind::reduce_scatter;
  const bool has_16_bits = call.type == DataType::float16 || call.type == DataType::bfloat16;
  return reduces &&
         (has_16_bits || call.op == ReduceOp::avg || is_incomplete(call, call.kind, rank));
}

/// Completes it.
void complete(const Call& call, int rank, int size);

}  // namespace dlaunch::collectives

#endif
