// Measures how quickly the files of a folder are read, which an interpreter waits for when it
// imports.
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
/// page cache are read from there, as an import would read them. `files` is 0 if there are none.
/// May hang if the file system does.
[[nodiscard]] FolderSpeed read_folder(const std::string& path,
                                      const FolderSpeedLimits& limits = {});

}  // namespace dlaunch
