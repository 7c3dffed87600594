// What the names of Azure's VM sizes say about InfiniBand. Pure. Sources: Microsoft, "Azure virtual
// machine sizes naming conventions" (the feature r), "Enable InfiniBand", and the pages that
// describe the sizes.
#pragma once

#include <string>
#include <string_view>

#include "model/result.h"

namespace dlaunch::fabric {

struct AzureSize {
  std::string name;  // "Standard_ND96asr_v4"
  bool has_rdma = false;
  bool has_sriov = false;  // without SR-IOV, libibverbs, NCCL and UCX see no device
  std::string says;        // one or two sentences for the user
  bool operator==(const AzureSize&) const = default;
};

/// Accepts "Standard_ND96asr_v4" and "ND96asr_v4" in upper or lower case. If the size is not in the
/// table, its features are derived from the letters of its name. Errors: exit_code::kUsage if
/// `name` is not the name of a size.
[[nodiscard]] Result<AzureSize> azure_size(std::string_view name);

}  // namespace dlaunch::fabric
