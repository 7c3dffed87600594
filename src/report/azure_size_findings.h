// What the name of an Azure VM size says about InfiniBand beside what was found on the nodes. Pure.
#pragma once

#include <vector>

#include "fabric/azure_sizes.h"
#include "model/check_report.h"

namespace dlaunch {

/// Notes of the code "azure-size", none of them bad: the name was given by a person or a job file,
/// and need not be that of these nodes. Nodes that do not answer are passed over.
[[nodiscard]] std::vector<CheckFinding> azure_size_findings(const fabric::AzureSize& size,
                                                            const std::vector<CheckedNode>& nodes);

}  // namespace dlaunch
