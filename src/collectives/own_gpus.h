// Whether the ranks of a world can be one communicator of NCCL: each comes to the same answer, from
// what all have said. Pure.
#ifndef DLAUNCH_COLLECTIVES_OWN_GPUS_H
#define DLAUNCH_COLLECTIVES_OWN_GPUS_H

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/collectives/status.h"

namespace dlaunch::collectives {

/// What a rank says that cannot use NCCL.
inline constexpr std::string_view kNoGpu = "-";

/// `gpus`: by rank, its nccl_gpu() or kNoGpu. Code::unavailable with the first rank that has none,
/// or the first two that would share one, which NCCL refuses ("Duplicate GPU detected").
Status each_has_its_own(const std::vector<std::string>& gpus);

}  // namespace dlaunch::collectives

#endif
