#include "measure/collectives/nccl_device.h"

#include <array>
#include <cstdlib>

#include "measure/collectives/backend.h"
#include "measure/collectives/machine.h"
#include "measure/collectives/nccl_library.h"

namespace dlaunch::collectives {

namespace {

/// On a machine without a driver CUDA's own message says that the driver is too old.
std::string why_no_gpu(cudaError_t error) {
  int driver = 0;
  (void)cudaDriverGetVersion(&driver);
  return driver == 0 ? "there is no NVIDIA driver" : cudaGetErrorString(error);
}

}  // namespace

Status cuda_status(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return {};
  return {Code::internal, what + ": " + cudaGetErrorString(error)};
}

Result<int> own_device() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess) return Status(Code::unavailable, "nccl: " + why_no_gpu(error));
  if (devices < 1) return Status(Code::unavailable, "nccl: this rank sees no GPU");
  const char* local_rank = std::getenv("LOCAL_RANK");
  if (local_rank == nullptr) local_rank = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  const long wanted = local_rank != nullptr ? std::strtol(local_rank, nullptr, 10) : 0;
  return wanted < 0 ? 0 : static_cast<int>(wanted % devices);
}

// NCCL identifies a GPU by machine and PCI address, too.
Result<std::string> nccl_gpu() {
  const auto nccl = NcclLibrary::get();
  if (!nccl) return nccl.status();
  const auto device = own_device();
  if (!device) return device.status();
  std::array<char, 32> bus{};  // "0000:3b:00.0"
  const cudaError_t error =
      cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), *device);
  if (error != cudaSuccess)
    return Status(Code::unavailable,
                  std::string("nccl: this rank's GPU: ") + cudaGetErrorString(error));
  return machine() + ' ' + bus.data();
}

bool ReachableBuffers::is_reachable(const void* buffer, const void*& known) {
  if (buffer == known) return true;
  cudaPointerAttributes found{};
  const cudaError_t error = cudaPointerGetAttributes(&found, buffer);
  if (error == cudaSuccess && found.type == cudaMemoryTypeUnregistered) return false;
  if (error == cudaSuccess) known = buffer;
  return true;  // another error, which NCCL will report
}

Status ReachableBuffers::refuse(const Call& call, const std::string& use) {
  return {Code::invalid_argument,
          std::string(name_of(call.kind)) + ": the buffer " + use +
              " is ordinary host memory, which NCCL cannot access: copy it to the GPU, allocate it "
              "with cudaMallocHost, or use BackendKind::mpi"};
}

}  // namespace dlaunch::collectives
