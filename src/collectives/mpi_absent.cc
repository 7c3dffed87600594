// Where no MPI was found when this was built.
#include "collectives/backend.h"

namespace dlaunch::collectives {

Result<std::unique_ptr<Backend>> create_mpi(const Options& /*options*/) {
  return Status(Code::unavailable, "mpi: this library was built without MPI");
}

}  // namespace dlaunch::collectives
