// Where no NCCL or no CUDA toolkit was found when this was built.
#include "collectives/backend.h"

namespace dlaunch::collectives {

Result<std::unique_ptr<Backend>> create_nccl(const Options& /*options*/) {
  return Status(Code::unavailable, "nccl: this library was built without NCCL");
}

}  // namespace dlaunch::collectives
