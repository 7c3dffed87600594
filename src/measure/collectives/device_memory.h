// GPU memory, for back-ends whose library can access only host memory.
#ifndef DLAUNCH_COLLECTIVES_DEVICE_MEMORY_H
#define DLAUNCH_COLLECTIVES_DEVICE_MEMORY_H

#include <cstddef>

#include "dlaunch/collectives/status.h"

namespace dlaunch::collectives {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  /// Whether the address is in GPU memory. Thread-safe.
  [[nodiscard]] virtual bool holds(const void* address) const noexcept = 0;
  /// Copies between any two kinds of memory, synchronously. The GPU's context must be current in
  /// the calling thread.
  virtual Status copy(void* to, const void* from, std::size_t bytes) = 0;
};

/// Uses the NVIDIA driver (libcuda.so.1), which is loaded if /dev/nvidiactl exists, but not called
/// until the program itself uses it. Null: no GPU or no driver, and so no GPU memory.
DeviceMemory* cuda_memory();

}  // namespace dlaunch::collectives

#endif
