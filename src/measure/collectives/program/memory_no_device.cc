// For builds without the CUDA toolkit, and for the program that uses MPI.
#include "measure/collectives/program/memory.h"

namespace dlaunch::collectives {

Result<std::unique_ptr<Memory>> device_memory() {
  return Status(Code::unavailable, "this program was built without CUDA");
}

}  // namespace dlaunch::collectives
