#include "cli/collectives_rank.h"
#include "collectives/program/program.h"

namespace dlaunch {

namespace {

// By CMake: what libdlaunch_collectives was built with.
constexpr bool kHasMpi = DLAUNCH_COLLECTIVES_MPI;
constexpr bool kHasNccl = DLAUNCH_COLLECTIVES_NCCL;

}  // namespace

bool is_built_in(MeasureBackend backend) {
  return backend == MeasureBackend::mpi ? kHasMpi : kHasNccl;
}

Status probe_collectives(MeasureBackend backend) {
  if (is_built_in(backend)) return {};
  return fail(exit_code::kPreflight, backend == MeasureBackend::mpi
                                         ? "this dlaunch was built without MPI"
                                         : "this dlaunch was built without NCCL");
}

int run_collectives(MeasureBackend /*backend*/, const std::vector<std::string>& words) {
  return collectives::run_program(words);
}

}  // namespace dlaunch
