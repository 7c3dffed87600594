#include <cstdlib>

#include <cuda_runtime_api.h>

#include "buffers.h"

void* allocate(std::size_t bytes, bool on_device) {
  void* buffer = nullptr;
  if (!on_device) return std::malloc(bytes);
  return cudaMallocManaged(&buffer, bytes, cudaMemAttachGlobal) == cudaSuccess ? buffer : nullptr;
}

void release(void* buffer, bool on_device) {
  on_device ? static_cast<void>(cudaFree(buffer)) : std::free(buffer);
}
