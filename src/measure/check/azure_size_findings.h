// Compares the InfiniBand that an Azure VM size promises with that of the nodes. Pure.
#pragma once

#include <vector>

#include "fabric/azure_sizes.h"
#include "model/check_report.h"

namespace dlaunch {

/// Notes with the code "azure-size", none of them bad: the size comes from the user or a job file
/// and may not be that of these nodes. Ignores nodes that do not answer.
[[nodiscard]] std::vector<CheckFinding> azure_size_findings(const fabric::AzureSize& size,
                                                            const std::vector<CheckedNode>& nodes);

}  // namespace dlaunch
