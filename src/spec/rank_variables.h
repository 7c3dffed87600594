// Names that only dlaunch gives values to.
#pragma once

#include <string>
#include <string_view>

#include "model/job_spec.h"

namespace dlaunch::spec {

/// True for a variable that tells a rank who it is or where the others are: the sets of torchrun,
/// TensorFlow, MPI and Horovod, and DLAUNCH_*. Not for what is kept if a user sets it
/// (OMP_NUM_THREADS, PYTHONUNBUFFERED, CUDA_VISIBLE_DEVICES, NCCL_*, ..). With Framework::none only
/// DLAUNCH_* is not the user's.
[[nodiscard]] bool is_rank_variable(Framework framework, std::string_view name);

/// The same as a regular expression (ECMA-262) for the JSON Schema.
[[nodiscard]] std::string rank_variable_pattern(Framework framework);

}  // namespace dlaunch::spec
