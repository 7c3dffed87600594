// How quickly the nodes find and read the files of a job: its workdir and its Python environment.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/check_report.h"

namespace dlaunch {

/// Finding a source file and reading it takes less than 0.1 ms from the page cache. A network file
/// system needs a few requests of 0.2 ms to 5 ms each.
inline constexpr std::uint64_t kSlowFileOfNetworkNs = 500'000;
/// Hard disks and the disks of many VMs take up to this for a file that is not in the page cache.
inline constexpr std::uint64_t kSlowFileNs = 5'000'000;
inline constexpr std::uint32_t kFewFiles = 20;
/// Modules that `import torch` loads (PyTorch 2), rounded.
inline constexpr std::uint64_t kFilesOfFramework = 2000;

/// A note for each folder in which files take long, about the slowest node.
[[nodiscard]] std::vector<CheckFinding> slow_files(const std::vector<CheckedNode>& nodes);

/// A table with a row for each folder that was read: the least and the most of all nodes. Empty if
/// none was.
[[nodiscard]] std::string folders_text(const std::vector<CheckedNode>& nodes);

}  // namespace dlaunch
