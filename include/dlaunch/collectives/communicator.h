// A group of ranks that exchange buffers, over NCCL (device buffers, asynchronous on a stream) or
// MPI (host and device buffers; device buffers are copied through host memory unless the MPI
// library is CUDA-aware and the call needs no work on the host). All algorithms are those of NCCL
// and MPI.
//
//   auto world = Communicator::create();
//   if (!world) return report(world.status());
//   Status done = world->all_reduce(gradients, sums, count, DataType::float32, ReduceOp::avg);
//   if (done.ok()) done = world->synchronize();
//
// Every rank makes the same calls in the same order with the same counts, types, operations and
// roots; this is not checked. `count` is a number of elements; it may be 0. Over MPI, one buffer of
// a call may hold at most kMostElementsOfMpi elements, all ranks' parts together. Unless a call
// says otherwise, `send` and `receive` may be equal (in place); if they differ, they must not
// overlap.
//
// With NCCL a buffer is GPU memory, managed memory, or pinned host memory (cudaMallocHost,
// cudaHostRegister); ordinary host memory is refused. A program for machines with and without GPUs
// calls takes_device_buffers(), or selects BackendKind::mpi.
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

/// A cudaStream_t; null is the default stream. MPI has none: its calls are complete when they
/// return.
using Stream = void*;

enum class BackendKind : std::uint8_t {
  automatic,  // NCCL if all ranks have libnccl.so.2 and a GPU each, else MPI
  mpi,
  nccl,
};

struct Options {
  BackendKind backend = BackendKind::automatic;
  /// Time limit of one call, of synchronize(), and of waiting for the other ranks in create(); a
  /// negative value is refused, and more than 24 days count as 24 days. MPI's own start and end
  /// (MPI_Init, MPI_Finalize) and MPI_Comm_split have no limit. Zero: no limit; then MPI's blocking
  /// calls are used, which are faster for small buffers, and detecting a dead peer is left to the
  /// launcher.
  std::chrono::milliseconds timeout{std::chrono::minutes(5)};
};

class Backend;

/// Thread-safety: different communicators may be used by different threads if MPI was initialized
/// with MPI_THREAD_MULTIPLE or the back-end is NCCL; each communicator by only one thread at a
/// time, except abort(), which any thread may call at any time.
class Communicator {
 public:
  /// The ranks that this process was started with; a collective call. Initializes MPI if necessary;
  /// destroying the last communicator then finalizes it. For NCCL it selects the device of the
  /// local rank among those visible to this process and makes it the current device (cudaSetDevice)
  /// of the calling thread, as each member function does too. Code::unavailable, on all ranks, if
  /// NCCL is requested and two ranks would share a GPU.
  static Result<Communicator> create(const Options& options = {});

  /// A moved-from object may only be destroyed or assigned to.
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  /// A collective call, unless an earlier call has failed.
  ~Communicator();

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int size() const noexcept;
  /// "mpi: Open MPI v4.1.4", "nccl: 2.28.9"
  [[nodiscard]] std::string description() const;
  /// Whether buffers may be in device memory; with NCCL they must (see above).
  [[nodiscard]] bool takes_device_buffers() const noexcept;

  /// The ranks with the same color, which is 0 or greater, ordered by key and then rank.
  Result<Communicator> split(int color, int key);

  Status barrier(Stream stream = nullptr);
  Status broadcast(void* buffer, std::size_t count, DataType type, int root,
                   Stream stream = nullptr);
  /// `receive` is used at the root only.
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
  /// Both buffers hold size() x count: part i goes to rank i, part i comes from rank i. Not in
  /// place.
  Status all_to_all(const void* send, void* receive, std::size_t count, DataType type,
                    Stream stream = nullptr);
  Status send(const void* buffer, std::size_t count, DataType type, int to,
              Stream stream = nullptr);
  Status receive(void* buffer, std::size_t count, DataType type, int from, Stream stream = nullptr);
  /// Send and receive at once, for an exchange or a ring; not in place.
  Status send_receive(const void* send, int to, void* receive, int from, std::size_t count,
                      DataType type, Stream stream = nullptr);

  /// Waits until everything enqueued on the stream is complete; returns the first error.
  Status synchronize(Stream stream = nullptr);

  /// Ends the calls of other ranks in this communicator: with NCCL their calls fail, with MPI all
  /// ranks end with this exit code (MPI_Abort), and abort() does not return.
  void abort(int code);

 private:
  explicit Communicator(std::unique_ptr<Backend> backend);
  std::unique_ptr<Backend> backend_;
};

}  // namespace dlaunch::collectives

#endif
