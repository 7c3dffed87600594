// A group of ranks that exchange buffers, over NCCL (device buffers, asynchronous on a stream) or
// MPI (buffers of the host and of a device; the latter by way of copies in the host's memory, but
// where the MPI library is CUDA-aware and the call leaves nothing to the host). No algorithm of our
// own.
//
//   auto world = Communicator::create();
//   if (!world) return report(world.status());
//   Status done = world->all_reduce(gradients, sums, count, DataType::float32, ReduceOp::avg);
//   if (done.ok()) done = world->synchronize();
//
// Every rank makes the same calls in the same order with the same counts, types, operations and
// roots; that is not checked. `count` is a number of elements: with those of all ranks, where a
// buffer holds them, at most kMostElementsOfMpi in one call over MPI; 0 is allowed. Where a call
// says nothing else, `send` and `receive` may be equal (in place) and must not overlap otherwise.
//
// With NCCL a buffer is memory of a GPU, managed, or of the host but pinned (cudaMallocHost,
// cudaHostRegister); ordinary memory of the host is refused. A program for machines with and
// without GPUs asks takes_device_buffers(), or takes BackendKind::mpi.
#ifndef DLAUNCH_COLLECTIVES_COMMUNICATOR_H
#define DLAUNCH_COLLECTIVES_COMMUNICATOR_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "dlaunch/collectives/status.h"
#include "dlaunch/collectives/types.h"

namespace dlaunch::collectives {

/// A cudaStream_t; null is the default stream. MPI has none: its calls are over when they return.
using Stream = void*;

enum class BackendKind : std::uint8_t {
  automatic,  // NCCL where all ranks have libnccl.so.2 and each a GPU of its own, else MPI
  mpi,
  nccl,
};

struct Options {
  BackendKind backend = BackendKind::automatic;
  /// How long one call, synchronize(), or meeting the others in create() may take; below 0 is
  /// refused, and more than 24 days is as many. MPI's own start and end (MPI_Init, MPI_Finalize)
  /// and MPI_Comm_split have no limit. Zero: for ever; then MPI's blocking calls are made, which
  /// are faster for small buffers, and a peer that is gone is noticed by whoever has started the
  /// ranks.
  std::chrono::milliseconds timeout{std::chrono::minutes(5)};
};

class Backend;

/// Thread-safe in that different communicators may be used by different threads where MPI was
/// initialized with MPI_THREAD_MULTIPLE or the back-end is NCCL; one communicator by one thread at
/// a time. Except abort(), which any thread may call at any time.
class Communicator {
 public:
  /// The ranks that this process was started with; a collective call. MPI is initialized where it
  /// is not, and finalized with the last communicator if it was done here. For NCCL the device is
  /// chosen: that of the local rank among those that this process sees. It is the calling thread's
  /// current device from then on (cudaSetDevice), as it is of each thread that calls a member.
  /// Code::unavailable, at all ranks, where NCCL is asked for and two would share a GPU.
  static Result<Communicator> create(const Options& options = {});

  /// What was moved from may only be destroyed or assigned to.
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  /// A collective call, where nothing has failed.
  ~Communicator();

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int size() const noexcept;
  /// "mpi: Open MPI v4.1.4", "nccl: 2.28.9"
  [[nodiscard]] std::string description() const;
  /// Whether buffers may be in device memory; with NCCL they must (see above).
  [[nodiscard]] bool takes_device_buffers() const noexcept;

  /// Those with the same color, which is 0 or greater, ordered by key and then rank.
  Result<Communicator> split(int color, int key);

  Status barrier(Stream stream = nullptr);
  Status broadcast(void* buffer, std::size_t count, DataType type, int root,
                   Stream stream = nullptr);
  /// `receive` counts at the root only.
  Status reduce(const void* send, void* receive, std::size_t count, DataType type, ReduceOp op,
                int root, Stream stream = nullptr);
  Status all_reduce(const void* send, void* receive, std::size_t count, DataType type, ReduceOp op,
                    Stream stream = nullptr);
  /// `receive` holds size() x count. In place: send is receive + rank() x count.
  Status all_gather(const void* send, void* receive, std::size_t count, DataType type,
                    Stream stream = nullptr);
  /// `send` holds size() x count. In place: receive is send + rank() x count, and the rest of
  /// `send` is undefined afterwards.
  Status reduce_scatter(const void* send, void* receive, std::size_t count, DataType type,
                        ReduceOp op, Stream stream = nullptr);
  /// Both hold size() x count: part i goes to rank i, part i comes from rank i. Not in place.
  Status all_to_all(const void* send, void* receive, std::size_t count, DataType type,
                    Stream stream = nullptr);
  Status send(const void* buffer, std::size_t count, DataType type, int to,
              Stream stream = nullptr);
  Status receive(void* buffer, std::size_t count, DataType type, int from, Stream stream = nullptr);
  /// Both at once, as an exchange or a ring needs it; not in place.
  Status send_receive(const void* send, int to, void* receive, int from, std::size_t count,
                      DataType type, Stream stream = nullptr);

  /// Until all that was begun on the stream is over, with what went wrong meanwhile.
  Status synchronize(Stream stream = nullptr);

  /// Ends what others wait for in this communicator: with NCCL their calls fail, with MPI all ranks
  /// end with this exit code (MPI_Abort), which does not return.
  void abort(int code);

 private:
  explicit Communicator(std::unique_ptr<Backend> backend);
  std::unique_ptr<Backend> backend_;
};

}  // namespace dlaunch::collectives

#endif
