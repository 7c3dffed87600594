#include "measure/collectives/mpi_calls.h"

#include <cstring>

namespace dlaunch::collectives {

namespace {

using Kind = Call::Kind;
constexpr int kTag = 1;

constexpr bool reduces(Kind kind) noexcept {
  return kind == Kind::reduce || kind == Kind::all_reduce || kind == Kind::reduce_scatter;
}

/// The arguments as MPI takes them.
struct Words {
  // Always inline: if the kind is a constant, most of it is optimized away.
  [[gnu::always_inline]] Words(const Call& call, Kind kind, const MpiNames& names, int rank)
      : send(call.send), receive(call.receive), count(static_cast<int>(call.count)) {
    if (kind == Kind::barrier) return;
    type = names.type(call.type);
    if (reduces(kind)) op = names.op(call.type, call.op);
    if (!in_place(call, kind, rank)) return;
    if (kind == Kind::reduce_scatter)
      receive =
          const_cast<void*>(call.send);  // writable: the caller passed it as the receive buffer too
    if (kind != Kind::reduce || rank == call.root) send = MPI_IN_PLACE;
  }

  const void* send;
  void* receive;
  int count;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
};

template <Kind kind>
[[gnu::always_inline]] inline int call_mpi(const Call& call, const MpiNames& names, MPI_Comm comm,
                                           int rank) {
  const Words w(call, kind, names, rank);
  if constexpr (kind == Kind::barrier) return MPI_Barrier(comm);
  if constexpr (kind == Kind::broadcast)
    return MPI_Bcast(w.receive, w.count, w.type, call.root, comm);
  if constexpr (kind == Kind::reduce)
    return MPI_Reduce(w.send, w.receive, w.count, w.type, w.op, call.root, comm);
  if constexpr (kind == Kind::all_reduce)
    return MPI_Allreduce(w.send, w.receive, w.count, w.type, w.op, comm);
  if constexpr (kind == Kind::all_gather)
    return MPI_Allgather(w.send, w.count, w.type, w.receive, w.count, w.type, comm);
  if constexpr (kind == Kind::reduce_scatter)
    return MPI_Reduce_scatter_block(w.send, w.receive, w.count, w.type, w.op, comm);
  if constexpr (kind == Kind::all_to_all)
    return MPI_Alltoall(w.send, w.count, w.type, w.receive, w.count, w.type, comm);
  if constexpr (kind == Kind::send) return MPI_Send(w.send, w.count, w.type, call.to, kTag, comm);
  if constexpr (kind == Kind::receive)
    return MPI_Recv(w.receive, w.count, w.type, call.from, kTag, comm, MPI_STATUS_IGNORE);
  if constexpr (kind == Kind::send_receive)
    return MPI_Sendrecv(w.send, w.count, w.type, call.to, kTag, w.receive, w.count, w.type,
                        call.from, kTag, comm, MPI_STATUS_IGNORE);
}

template <Kind kind>
int run_one(const Call& call, const MpiNames& names, MPI_Comm comm, int rank, int size) {
  const int error = call_mpi<kind>(call, names, comm, rank);
  if (error == MPI_SUCCESS && is_incomplete(call, kind, rank)) complete(call, rank, size);
  return error;
}

}  // namespace

int run_blocking(const Call& call, const MpiNames& names, MPI_Comm comm, int rank, int size) {
  // One jump to code that is specialized for the kind.
  using Run = int (*)(const Call&, const MpiNames&, MPI_Comm, int, int);
  static constexpr std::array<Run, kKinds> kRuns = {
      run_one<Kind::barrier>,     run_one<Kind::broadcast>,  run_one<Kind::reduce>,
      run_one<Kind::all_reduce>,  run_one<Kind::all_gather>, run_one<Kind::reduce_scatter>,
      run_one<Kind::all_to_all>,  run_one<Kind::send>,       run_one<Kind::receive>,
      run_one<Kind::send_receive>};
  return kRuns[static_cast<std::size_t>(call.kind)](call, names, comm, rank, size);
}

int begin(const Call& call, const MpiNames& names, MPI_Comm comm, int rank,
          std::array<MPI_Request, 2>& requests) {
  const Words w(call, call.kind, names, rank);
  MPI_Request* request = requests.data();
  switch (call.kind) {
    case Kind::barrier:
      return MPI_Ibarrier(comm, request);
    case Kind::broadcast:
      return MPI_Ibcast(w.receive, w.count, w.type, call.root, comm, request);
    case Kind::reduce:
      return MPI_Ireduce(w.send, w.receive, w.count, w.type, w.op, call.root, comm, request);
    case Kind::all_reduce:
      return MPI_Iallreduce(w.send, w.receive, w.count, w.type, w.op, comm, request);
    case Kind::all_gather:
      return MPI_Iallgather(w.send, w.count, w.type, w.receive, w.count, w.type, comm, request);
    case Kind::reduce_scatter:
      return MPI_Ireduce_scatter_block(w.send, w.receive, w.count, w.type, w.op, comm, request);
    case Kind::all_to_all:
      return MPI_Ialltoall(w.send, w.count, w.type, w.receive, w.count, w.type, comm, request);
    case Kind::send:
      return MPI_Isend(w.send, w.count, w.type, call.to, kTag, comm, request);
    case Kind::receive:
      return MPI_Irecv(w.receive, w.count, w.type, call.from, kTag, comm, request);
    case Kind::send_receive: {
      const int error = MPI_Irecv(w.receive, w.count, w.type, call.from, kTag, comm, request);
      return error != MPI_SUCCESS
                 ? error
                 : MPI_Isend(w.send, w.count, w.type, call.to, kTag, comm, &requests[1]);
    }
  }
  return MPI_ERR_ARG;
}

void complete(const Call& call, int rank, int size) {
  if (call.kind == Kind::reduce_scatter && in_place(call, call.kind, rank)) {
    std::memmove(call.receive, call.send, call.count * size_of(call.type));
  }
  if (call.op == ReduceOp::avg) divide(call.receive, call.count, call.type, size);
}

}  // namespace dlaunch::collectives
