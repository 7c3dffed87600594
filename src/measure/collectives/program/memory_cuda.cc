#include <array>

#include <cuda_runtime_api.h>

#include "measure/collectives/program/memory.h"

namespace dlaunch::collectives {

namespace {

class DeviceMemory final : public Memory {
 public:
  explicit DeviceMemory(std::string description) : description_(std::move(description)) {}

  [[nodiscard]] bool is_device() const noexcept override { return true; }
  [[nodiscard]] std::string description() const override { return description_; }

  [[nodiscard]] void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    return cudaMalloc(&memory, bytes) == cudaSuccess ? memory : nullptr;
  }

  void release(void* memory) override { cudaFree(memory); }

  Status copy_in(void* to, const void* from, std::size_t bytes) override {
    return copy(to, from, bytes, cudaMemcpyHostToDevice);
  }

  Status copy_out(void* to, const void* from, std::size_t bytes) override {
    return copy(to, from, bytes, cudaMemcpyDeviceToHost);
  }

 private:
  static Status copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    cudaError_t error = cudaMemcpy(to, from, bytes, kind);
    // A copy from pageable memory may return when the bytes are only staged (CUDA Runtime API, "API
    // synchronization behavior").
    if (error == cudaSuccess && kind == cudaMemcpyHostToDevice)
      error = cudaStreamSynchronize(nullptr);
    if (error == cudaSuccess) return {};
    return {Code::internal, std::string("cudaMemcpy: ") + cudaGetErrorString(error)};
  }

  std::string description_;
};

}  // namespace

Result<std::unique_ptr<Memory>> device_memory() {
  int device = 0;
  cudaDeviceProp properties{};
  std::array<char, 32> bus{};
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device);
  if (error != cudaSuccess) return Status(Code::unavailable, cudaGetErrorString(error));
  const std::string description = std::string(properties.name) + " (" + bus.data() + ')';
  return std::unique_ptr<Memory>(std::make_unique<DeviceMemory>(description));
}

}  // namespace dlaunch::collectives
