// Lists of kept nodes as text and JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "launch/keep/keep_protocol.h"

namespace dlaunch {

/// A header, and one line per node.
[[nodiscard]] std::string kept_table(const std::vector<KeptList>& keepers);

/// An array of objects; docs/how-to/keep-nodes-connected.md has the members.
[[nodiscard]] std::string kept_json(const std::vector<KeptList>& keepers);

}  // namespace dlaunch
