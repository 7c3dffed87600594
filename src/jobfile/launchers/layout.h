// Finds the node of a process whose launcher tells only its rank and its local rank.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "jobfile/launchers/claims.h"
#include "jobfile/launchers/inherited_world.h"
#include "jobfile/launchers/node_list.h"
#include "model/result.h"

namespace dlaunch::launchers {

/// Sets the node of a world whose rank, size, local rank and local size are known, and its hosts as
/// far as `list` names them. `is_own`: whether a name is this machine's.
///
/// Tries two layouts: nodes filled by their slots in the order of the list, and equally many
/// ranks on each node, node by node. Each rank verifies its own position: the host at that position
/// in the list, and the number of its neighbours. Because all ranks do so, some rank refuses a
/// wrong layout.
///
/// Errors (exit_code::kPreflight): this machine is not in the list; ranks are distributed in
/// another way (--map-by node), or unevenly without a list that describes it.
[[nodiscard]] Status find_node(const std::optional<NodeList>& list,
                               const std::function<bool(std::string_view)>& is_own, World& world);

}  // namespace dlaunch::launchers
