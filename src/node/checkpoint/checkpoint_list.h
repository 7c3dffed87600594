// Finds what the patterns of `checkpoint.path` name on this machine. May hang with its file system:
// for a SideProcess.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "model/checkpoint.h"

namespace dlaunch {

struct CheckpointLimits {
  std::size_t entries = 50'000;  // of folders that are read
  std::size_t items = 2'000;     // the newest are kept
  std::chrono::milliseconds time{1'500};
};

/// `workdir`: absolute. A pattern has *, ? and [...] as in fnmatch(3), which match no '/' and no
/// leading '.'. A symbolic link counts only if the pattern's last part names it literally, so that
/// a link to the newest checkpoint is not a second checkpoint. What cannot be read is left out.
[[nodiscard]] CheckpointList list_checkpoints(const std::string& workdir,
                                              const std::vector<std::string>& patterns,
                                              const CheckpointLimits& limits = {});

}  // namespace dlaunch
