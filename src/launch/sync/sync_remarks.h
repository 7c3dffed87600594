// Messages to the user about a sync. Pure.
#pragma once

#include <string>
#include <vector>

#include "launch/sync/workdir_sync.h"

namespace dlaunch {

/// Files that were replaced, and entries that were not copied: a sentence each.
[[nodiscard]] std::vector<std::string> remarks_on(const SyncReport& report);
/// "copied the workdir to 2 nodes in 3 s: 12 files (1.2 MB) sent"
[[nodiscard]] std::string copied_text(const SyncReport& report);

}  // namespace dlaunch
