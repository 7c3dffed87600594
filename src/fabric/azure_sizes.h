// What the names of Azure's virtual machines say about InfiniBand. Pure. Sources: Microsoft, "Azure
// virtual machine sizes naming conventions" (the feature r), "Enable InfiniBand" and the pages of
// the sizes.
#pragma once

#include <string>
#include <string_view>

#include "model/result.h"

namespace dlaunch::fabric {

struct AzureSize {
  std::string name;  // "Standard_ND96asr_v4"
  bool has_rdma = false;
  bool has_sriov = false;  // without it libibverbs, NCCL and UCX see no device
  std::string says;        // one or two sentences
  bool operator==(const AzureSize&) const = default;
};

/// Takes "Standard_ND96asr_v4", "ND96asr_v4", in any case. A size that is not in the table is told
/// by its letters. Errors: exit_code::kUsage for what is no such name.
[[nodiscard]] Result<AzureSize> azure_size(std::string_view name);

}  // namespace dlaunch::fabric
