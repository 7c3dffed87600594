// Whether the ranks of a world can form an NCCL communicator. Every rank decides the same, from the
// same data. Pure.
#ifndef DLAUNCH_COLLECTIVES_OWN_GPUS_H
#define DLAUNCH_COLLECTIVES_OWN_GPUS_H

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/collectives/status.h"

namespace dlaunch::collectives {

/// Stands for a rank that cannot use NCCL.
inline constexpr std::string_view kNoGpu = "-";

/// `gpus`: by rank, nccl_gpu() or kNoGpu. Code::unavailable with the first rank without one, or the
/// first two that would share one, which NCCL refuses ("Duplicate GPU detected").
Status each_has_its_own(const std::vector<std::string>& gpus);

}  // namespace dlaunch::collectives

#endif
