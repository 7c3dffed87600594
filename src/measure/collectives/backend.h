// A communicator over one library; one file for each library.
#ifndef DLAUNCH_COLLECTIVES_BACKEND_H
#define DLAUNCH_COLLECTIVES_BACKEND_H

#include <memory>
#include <string>

#include "measure/collectives/call.h"

namespace dlaunch::collectives {

class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  /// The largest number of elements in one buffer of a call.
  [[nodiscard]] std::size_t most_elements() const noexcept { return most_elements_; }
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] virtual bool takes_device_buffers() const noexcept = 0;
  virtual Result<std::unique_ptr<Backend>> split(int color, int key) = 0;
  /// `call` has passed check().
  virtual Status run(const Call& call) = 0;
  virtual Status synchronize(Stream stream) = 0;
  virtual void abort(int code) = 0;

 protected:
  int rank_ = 0;
  int size_ = 1;
  std::size_t most_elements_ = kMostElements;
};

/// The GPU that this rank would use with NCCL; two ranks that would share one get the same text.
/// Code::unavailable if NCCL's library, a driver or a GPU is missing.
Result<std::string> nccl_gpu();

/// "Open MPI v4.1.4", "NCCL 2.28.9"; initializes nothing. Code::unavailable if the library cannot
/// be loaded, or there is no driver for NCCL. Does not count GPUs, because that would initialize
/// them.
Result<std::string> mpi_name();
Result<std::string> nccl_name();

/// Code::unavailable if the library, or something that it needs, is missing.
Result<std::unique_ptr<Backend>> create_mpi(const Options& options);
/// Each rank must have a different nccl_gpu().
Result<std::unique_ptr<Backend>> create_nccl(const Options& options);

}  // namespace dlaunch::collectives

#endif
