// Messages to the user about a sync and a staging. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/stage.h"
#include "model/sync.h"

namespace dlaunch {

/// Files that were replaced, and entries that were not copied: one sentence each.
[[nodiscard]] std::vector<std::string> remarks_on(const SyncReport& report);
/// "copied the workdir to 2 nodes in 3 s: 12 files (1.2 MB) sent"
[[nodiscard]] std::string copied_text(const SyncReport& report);

/// Nodes that were not fed by the planned node, and what was not copied.
[[nodiscard]] std::vector<std::string> remarks_on(const StageReport& report);
/// "staged 3 files (1.2 GB) on 8 nodes in 43 s: 1.2 GB sent from here"
[[nodiscard]] std::string staged_text(const StageReport& report);

/// "gpu[02-04]: /home/me/job: Read-only file system": what is wrong on which nodes, with one line
/// per problem; all lines but the first are indented. `problems`: names of nodes with their
/// problems; an empty problem means that the node has none.
[[nodiscard]] std::string problems_of_nodes(
    const std::vector<std::pair<std::string, std::string>>& problems);

}  // namespace dlaunch
