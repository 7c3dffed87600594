// For builds without NCCL or the CUDA toolkit.
#include "measure/collectives/backend.h"

namespace dlaunch::collectives {

Result<std::string> nccl_gpu() {
  return Status(Code::unavailable, "nccl: this library was built without NCCL");
}

Result<std::string> nccl_name() {
  return nccl_gpu();
}

Result<std::unique_ptr<Backend>> create_nccl(const Options& /*options*/) {
  return nccl_gpu().status();
}

}  // namespace dlaunch::collectives
