// Finds what the patterns of `checkpoint.path` match on this machine. May hang if a file system
// does, so it runs in a SideProcess.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "model/checkpoint.h"

namespace dlaunch {

struct CheckpointLimits {
  std::size_t entries = 50'000;  // names read from folders
  std::size_t items = 2'000;     // the newest are kept
  std::chrono::milliseconds time{1'500};
};

/// `workdir`: absolute. Patterns may contain *, ? and [...] as in fnmatch(3); these match neither
/// '/' nor a leading '.'. A symbolic link counts only if the pattern's last part names it
/// literally, so a link to the newest checkpoint does not count as a second checkpoint. Leaves out
/// files that it cannot inspect.
[[nodiscard]] CheckpointList list_checkpoints(const std::string& workdir,
                                              const std::vector<std::string>& patterns,
                                              const CheckpointLimits& limits = {});

}  // namespace dlaunch
