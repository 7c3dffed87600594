// Whether a name of a node list is this machine's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::foreign {

/// The name is the machine's own, with or without its domain ("gpu01" and "gpu01.cluster.local"),
/// or one of its addresses. Two names with different domains are two machines.
[[nodiscard]] bool is_own_host(std::string_view name, std::string_view hostname,
                               const std::vector<std::string>& addresses);

}  // namespace dlaunch::foreign
