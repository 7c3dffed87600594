// Where no NCCL or no CUDA toolkit was found when this was built.
#include "collectives/backend.h"

namespace dlaunch::collectives {

Status nccl_is_here() {
  return {Code::unavailable, "nccl: this library was built without NCCL"};
}

Result<std::string> nccl_name() {
  return nccl_is_here();
}

Result<std::unique_ptr<Backend>> create_nccl(const Options& /*options*/) {
  return nccl_is_here();
}

}  // namespace dlaunch::collectives
