// On which node of the world a process is, when the launcher tells only its number among all and
// among those of its node.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "foreign/claims.h"
#include "foreign/node_list.h"
#include "foreign/world.h"
#include "model/result.h"

namespace dlaunch::foreign {

/// Sets the place among nodes of a world whose rank, size, local rank and local size are known, and
/// its hosts as far as `list` names them. `is_own`: whether a name is this machine's.
///
/// Two layouts are tried: nodes filled by their slots, in the order of the list; the same number of
/// ranks on each node, node by node. Each rank checks that it is where the layout puts it, with as
/// many neighbours, and on the host that the list has there. As all ranks do so, a layout that is
/// not this one is refused by some of them.
///
/// Errors (exit_code::kPreflight): this machine is not in the list; ranks are spread in another way
/// (--map-by node), or unevenly and nobody says how.
[[nodiscard]] Status find_node(const std::optional<NodeList>& list,
                               const std::function<bool(std::string_view)>& is_own, World& world);

}  // namespace dlaunch::foreign
