// Where no CUDA toolkit was found when this was built, and in the program that uses MPI.
#include "collectives/program/memory.h"

namespace dlaunch::collectives {

Result<std::unique_ptr<Memory>> device_memory() {
  return Status(Code::unavailable, "this was built without CUDA");
}

}  // namespace dlaunch::collectives
