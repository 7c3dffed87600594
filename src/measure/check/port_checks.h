// Compares the InfiniBand and RoCE ports of nodes; a part of measure/check/node_checks. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/check_report.h"

namespace dlaunch {

/// Finds ports that are down or slower than those of the same name on other nodes, and missing
/// cards. A difference between two nodes is a note, since either may be right; but a port near a
/// GPU that is down while the other node's is ACTIVE is bad.
void check_ports(const std::vector<CheckedNode>& nodes, std::vector<CheckFinding>& findings);

/// "another node has", "the other 3 have"
[[nodiscard]] std::string others_have(std::size_t count);

}  // namespace dlaunch
