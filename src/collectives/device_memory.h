// Memory of a GPU, for back-ends whose library reaches that of the host only.
#ifndef DLAUNCH_COLLECTIVES_DEVICE_MEMORY_H
#define DLAUNCH_COLLECTIVES_DEVICE_MEMORY_H

#include <cstddef>

#include "dlaunch/collectives/status.h"

namespace dlaunch::collectives {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  /// Whether the address is one of a GPU's memory. Thread-safe.
  [[nodiscard]] virtual bool holds(const void* address) const noexcept = 0;
  /// Between any memory and any other; over when it returns. By a thread that uses the GPU.
  virtual Status copy(void* to, const void* from, std::size_t bytes) = 0;
};

/// Through the NVIDIA driver (libcuda.so.1), which is loaded where /dev/nvidiactl is and not used
/// before the program itself uses it. Null: no GPU or no driver here, so no such memory either.
DeviceMemory* cuda_memory();

}  // namespace dlaunch::collectives

#endif
