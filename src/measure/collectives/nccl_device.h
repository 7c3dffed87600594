// The GPU of a rank that uses NCCL, and the memory that NCCL's kernels reach on it.
#ifndef DLAUNCH_COLLECTIVES_NCCL_DEVICE_H
#define DLAUNCH_COLLECTIVES_NCCL_DEVICE_H

#include <string>

#include <cuda_runtime_api.h>

#include "measure/collectives/call.h"

namespace dlaunch::collectives {

/// The result of a CUDA call; `what`: the operation, for the message.
Status cuda_status(cudaError_t error, const std::string& what);

/// The GPU of this rank, by CUDA's numbering: its only visible one (CUDA_VISIBLE_DEVICES), else the
/// one of its local rank. own_gpus.h checks whether other ranks use it too. Code::unavailable: no
/// driver or no GPU.
Result<int> own_device();

/// Checks that NCCL's kernels can access a buffer. On ordinary host memory they would fault, which
/// ends all work of this process on the GPU; NCCL itself checks only with NCCL_CHECK_POINTERS=1.
/// Not thread-safe.
class ReachableBuffers {
 public:
  /// `call` has passed check() and moves data. Code::invalid_argument: a buffer is neither GPU
  /// memory nor managed nor pinned.
  Status check(const Call& call, int rank) {
    if (reads(call) && !is_reachable(call.send, send_)) return refuse(call, "to send");
    if (writes(call, rank) && !is_reachable(call.receive, receive_))
      return refuse(call, "to receive into");
    return {};
  }

 private:
  static bool is_reachable(const void* buffer, const void*& known);
  static Status refuse(const Call& call, const std::string& use);

  // The last valid buffers: a program's steps use the same ones, and asking CUDA again takes time.
  const void* send_ = nullptr;
  const void* receive_ = nullptr;
};

}  // namespace dlaunch::collectives

#endif
