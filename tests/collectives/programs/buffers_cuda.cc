#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime_api.h>

#include "buffers.h"

namespace {

/// A copy from pageable memory may return when the bytes are only staged (CUDA Runtime API, "API
/// synchronization behavior"), so this waits.
void copy(void* to, const void* from, std::size_t bytes, bool on_device) {
  if (bytes == 0) return;
  if (!on_device) {  // works without a driver, too
    std::memcpy(to, from, bytes);
    return;
  }
  cudaError_t error = cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
  if (error == cudaSuccess) error = cudaStreamSynchronize(nullptr);
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "cudaMemcpy of %zu bytes: %s\n", bytes, cudaGetErrorString(error));
  std::exit(2);
}

}  // namespace

void* allocate(std::size_t bytes, bool on_device) {
  void* buffer = nullptr;
  if (!on_device) return std::malloc(bytes);
  return cudaMalloc(&buffer, bytes) == cudaSuccess ? buffer : nullptr;
}

void release(void* buffer, bool on_device) {
  on_device ? static_cast<void>(cudaFree(buffer)) : std::free(buffer);
}

void copy_to(void* buffer, const void* from, std::size_t bytes, bool on_device) {
  copy(buffer, from, bytes, on_device);
}

void copy_from(void* to, const void* buffer, std::size_t bytes, bool on_device) {
  copy(to, buffer, bytes, on_device);
}
