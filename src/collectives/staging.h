// A call on device buffers, made on copies of them in the host's memory.
#ifndef DLAUNCH_COLLECTIVES_STAGING_H
#define DLAUNCH_COLLECTIVES_STAGING_H

#include <functional>

#include "collectives/call.h"
#include "collectives/device_memory.h"

namespace dlaunch::collectives {

/// Whether one of the buffers that this rank uses is a device's.
bool is_on_device(const Call& call, int rank, const DeviceMemory& device) noexcept;

/// Copies what the call reads from the device, makes it on host buffers with the same relation (one
/// buffer stays one), and copies what it wrote back. Buffers of the host stay what they are. Where
/// the call has failed nothing is copied back. Errors: those of `run` and of the copies;
/// Code::unavailable without memory.
Status run_staged(const Call& call, int rank, int size, DeviceMemory& device,
                  const std::function<Status(const Call&)>& run);

}  // namespace dlaunch::collectives

#endif
