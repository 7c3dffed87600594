// For builds without MPI.
#include "measure/collectives/backend.h"

namespace dlaunch::collectives {

Result<std::string> mpi_name() {
  return Status(Code::unavailable, "mpi: this library was built without MPI");
}

Result<std::unique_ptr<Backend>> create_mpi(const Options& /*options*/) {
  return mpi_name().status();
}

}  // namespace dlaunch::collectives
