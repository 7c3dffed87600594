// Uses a few functions of the CUDA driver API by name, so that it builds without CUDA and a program
// without a GPU loads nothing.
#include <cstdint>
#include <string>

#include <dlfcn.h>
#include <unistd.h>

#include "measure/collectives/device_memory.h"

namespace dlaunch::collectives {

namespace {

// cuda.h: CUresult, CUpointer_attribute, CUmemorytype; CUdeviceptr is a 64-bit integer.
using Result = int;
using Address = unsigned long long;
constexpr Result kSuccess = 0;
constexpr Result kInvalidContext = 201;
constexpr int kMemoryType = 2;
constexpr unsigned kDevice = 2;

Address address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

class CudaMemory final : public DeviceMemory {
 public:
  /// Looks the functions up in a loaded driver. False: one is missing.
  bool find(void* driver) {
    attribute_ = reinterpret_cast<decltype(attribute_)>(::dlsym(driver, "cuPointerGetAttribute"));
    copy_ = reinterpret_cast<decltype(copy_)>(::dlsym(driver, "cuMemcpy"));
    wait_ = reinterpret_cast<decltype(wait_)>(::dlsym(driver, "cuStreamSynchronize"));
    name_ = reinterpret_cast<decltype(name_)>(::dlsym(driver, "cuGetErrorString"));
    return attribute_ != nullptr && copy_ != nullptr && wait_ != nullptr && name_ != nullptr;
  }

  /// The driver returns an error for an address that it does not know and before its
  /// initialization.
  [[nodiscard]] bool holds(const void* address) const noexcept override {
    unsigned type = 0;
    return address != nullptr && attribute_(&type, kMemoryType, address_of(address)) == kSuccess &&
           type == kDevice;
  }

  Status copy(void* to, const void* from, std::size_t bytes) override {
    Result result = copy_(address_of(to), address_of(from), bytes);
    // A copy from pageable memory may return when the bytes are only staged (CUDA driver API, "API
    // synchronization behavior").
    if (result == kSuccess) result = wait_(nullptr);
    if (result == kSuccess) return {};
    const char* text = nullptr;
    (void)name_(result, &text);
    std::string why = "copying from or to the GPU: ";
    why += text != nullptr ? text : "error " + std::to_string(result);
    if (result == kInvalidContext) why += " (this thread has not selected a GPU: cudaSetDevice)";
    return {Code::internal, why};
  }

 private:
  Result (*attribute_)(void* value, int attribute, Address pointer) = nullptr;
  Result (*copy_)(Address to, Address from, std::size_t bytes) = nullptr;
  Result (*wait_)(void* stream) = nullptr;
  Result (*name_)(Result error, const char** text) = nullptr;
};

DeviceMemory* load() {
  static CudaMemory memory;
  if (::access("/dev/nvidiactl", F_OK) != 0) return nullptr;
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return driver != nullptr && memory.find(driver) ? &memory : nullptr;
}

}  // namespace

DeviceMemory* cuda_memory() {
  static DeviceMemory* const memory = load();
  return memory;
}

}  // namespace dlaunch::collectives
