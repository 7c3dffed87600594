// What is wrong with nodes' ports of InfiniBand and RoCE, beside each other: a part of
// plan/node_checks. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/check_report.h"

namespace dlaunch {

/// Ports that are down or slower than those of the same name on other nodes, and cards that other
/// nodes have more of. Of two nodes nobody can say which is right, so that is a note; but a port
/// beside a GPU that is down while the other node's is ACTIVE is bad.
void check_ports(const std::vector<CheckedNode>& nodes, std::vector<CheckFinding>& findings);

/// "another node has", "the other 3 have"
[[nodiscard]] std::string others_have(std::size_t count);

}  // namespace dlaunch
