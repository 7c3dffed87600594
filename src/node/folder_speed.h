// How quickly the files of a folder are read: what an interpreter waits for when it imports.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "model/check_report.h"

namespace dlaunch {

struct FolderSpeedLimits {
  std::uint32_t files = 300;
  std::uint64_t bytes_of_each = std::uint64_t{64} << 10U;
  std::chrono::milliseconds time{2000};
};

/// Finds and reads files from the folder down, without following links. Files in this machine's
/// page cache count as fast as they are, because an import gets them from there too. `files` is 0
/// if there are none. May hang with its file system.
[[nodiscard]] FolderSpeed read_folder(const std::string& path,
                                      const FolderSpeedLimits& limits = {});

}  // namespace dlaunch
