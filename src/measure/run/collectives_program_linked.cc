#include "measure/run/collectives_program.h"

#include <string_view>

#include "measure/collectives/program/program.h"

namespace dlaunch {

namespace {

// Set by CMake: what libdlaunch_collectives was built with.
constexpr bool kHasMpi = DLAUNCH_COLLECTIVES_MPI;
constexpr bool kHasNccl = DLAUNCH_COLLECTIVES_NCCL;

}  // namespace

bool is_built_in(MeasureBackend backend) {
  return backend == MeasureBackend::mpi ? kHasMpi : kHasNccl;
}

Result<std::string> probe_collectives(MeasureBackend backend) {
  const bool mpi = backend == MeasureBackend::mpi;
  if (!is_built_in(backend))
    return fail(exit_code::kPreflight,
                mpi ? "this dlaunch was built without MPI"
                    : "this dlaunch was built without NCCL (nccl.h and the CUDA toolkit were not "
                      "installed)");
  constexpr std::string_view kReady = "ready, ";
  const std::string line = collectives::version_line(mpi ? "mpi" : "nccl");
  if (!line.starts_with(kReady)) return fail(exit_code::kPreflight, line);
  return line.substr(kReady.size());
}

Result<int> run_collectives(MeasureBackend /*backend*/, const std::vector<std::string>& words) {
  return collectives::run_program(words);
}

}  // namespace dlaunch
