// Names that only dlaunch gives values to.
#pragma once

#include <string_view>

namespace dlaunch {

/// True for a variable that tells a rank who it is or where the others are (design of the rank
/// environment): the sets of torchrun, TensorFlow, MPI and Horovod, and DLAUNCH_*. Not for what is
/// kept if a user sets it (OMP_NUM_THREADS, PYTHONUNBUFFERED, CUDA_VISIBLE_DEVICES, NCCL_*, ..).
[[nodiscard]] bool is_rank_variable(std::string_view name);

}  // namespace dlaunch
