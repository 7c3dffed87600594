// The GPU of a rank that uses NCCL, and the memory that NCCL's kernels reach on it.
#ifndef DLAUNCH_COLLECTIVES_NCCL_DEVICE_H
#define DLAUNCH_COLLECTIVES_NCCL_DEVICE_H

#include <string>

#include <cuda_runtime_api.h>

#include "collectives/call.h"

namespace dlaunch::collectives {

/// `what` was to be done.
Status cuda_status(cudaError_t error, const std::string& what);

/// The GPU of this rank, as CUDA counts: where it sees one only (CUDA_VISIBLE_DEVICES), that one;
/// else the one of its local rank. Whether other ranks take it as well is not known here
/// (own_gpus.h). Code::unavailable: no driver, or no GPU.
Result<int> own_device();

/// Ordinary memory of the host is no address to NCCL's kernels: they would fault, and with them all
/// that this process does on the GPU. NCCL itself looks only where NCCL_CHECK_POINTERS is 1. One
/// thread at a time.
class ReachableBuffers {
 public:
  /// Of a call that check() has found well and that moves something. Code::invalid_argument: one of
  /// the buffers is neither a GPU's nor managed nor pinned.
  Status check(const Call& call, int rank) {
    if (reads(call) && !is_reachable(call.send, send_)) return refuse(call, "to send");
    if (writes(call, rank) && !is_reachable(call.receive, receive_))
      return refuse(call, "to receive into");
    return {};
  }

 private:
  static bool is_reachable(const void* buffer, const void*& known);
  static Status refuse(const Call& call, const std::string& use);

  // The last ones that were right, which are not asked for again: the steps of a program use the
  // same, and CUDA takes a while to answer.
  const void* send_ = nullptr;
  const void* receive_ = nullptr;
};

}  // namespace dlaunch::collectives

#endif
