#include "measure/collectives/own_gpus.h"

#include <cstddef>
#include <unordered_map>

namespace dlaunch::collectives {

Status each_has_its_own(const std::vector<std::string>& gpus) {
  std::unordered_map<std::string_view, std::size_t> owners;
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    const std::string own = std::to_string(rank);
    if (gpus[rank] == kNoGpu)
      return {Code::unavailable, "nccl: rank " + own + " has no GPU or no NCCL"};
    const auto [owner, is_new] = owners.emplace(gpus[rank], rank);
    if (!is_new) {
      return {Code::unavailable, "nccl: ranks " + std::to_string(owner->second) + " and " + own +
                                     " would share a GPU, but NCCL takes only one rank per GPU"};
    }
  }
  return {};
}

}  // namespace dlaunch::collectives
