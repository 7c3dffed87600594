// Runs a call on device buffers by way of copies in host memory.
#ifndef DLAUNCH_COLLECTIVES_STAGING_H
#define DLAUNCH_COLLECTIVES_STAGING_H

#include <functional>

#include "measure/collectives/call.h"
#include "measure/collectives/device_memory.h"

namespace dlaunch::collectives {

/// Whether a buffer that this rank uses is in device memory.
bool is_on_device(const Call& call, int rank, const DeviceMemory& device) noexcept;

/// Copies what the call reads to host buffers, runs it on them, and copies what it wrote back. An
/// in-place call stays in place; host buffers are used directly. Copies nothing back if the call
/// failed. Errors: those of `run` and of the copies; Code::unavailable without memory.
Status run_staged(const Call& call, int rank, int size, DeviceMemory& device,
                  const std::function<Status(const Call&)>& run);

}  // namespace dlaunch::collectives

#endif
