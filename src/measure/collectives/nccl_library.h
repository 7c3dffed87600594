// libnccl.so.2, loaded when it is first needed, so that a program that links this library starts
// without it.
#ifndef DLAUNCH_COLLECTIVES_NCCL_LIBRARY_H
#define DLAUNCH_COLLECTIVES_NCCL_LIBRARY_H

#include <string>

#include <nccl.h>

#include "dlaunch/collectives/status.h"

namespace dlaunch::collectives {

/// The functions of nccl.h that this library calls. As thread-safe as they are.
struct NcclLibrary {
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclGetLastError) get_last_error = nullptr;
  decltype(&ncclCommInitRankConfig) comm_init_rank_config = nullptr;
  decltype(&ncclCommSplit) comm_split = nullptr;
  decltype(&ncclCommCount) comm_count = nullptr;
  decltype(&ncclCommUserRank) comm_user_rank = nullptr;
  decltype(&ncclCommFinalize) comm_finalize = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclCommGetAsyncError) comm_get_async_error = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclReduce) reduce = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;

  /// "2.28.9"
  [[nodiscard]] std::string version() const;

  /// Loaded once per process and never unloaded, since NCCL has threads. Code::unavailable with the
  /// message of the dynamic linker.
  static Result<const NcclLibrary*> get();
};

}  // namespace dlaunch::collectives

#endif
