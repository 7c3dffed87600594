// Measures how quickly the files of a folder are found and read, which an interpreter waits for
// when it imports.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "model/check_report.h"

namespace dlaunch {

struct FolderSpeedLimits {
  std::uint32_t files = 300;
  std::uint64_t bytes_of_each = std::uint64_t{64} << 10U;
  std::chrono::milliseconds time{1500};
  std::size_t large_files = 8;  // are read once more, for the rate
  std::uint64_t bytes = std::uint64_t{32} << 20U;
  std::chrono::milliseconds reading{500};
};

/// Finds and reads files from the folder down, without following links. What it reads is dropped
/// from this machine's page cache first, as far as the kernel does that: not what is mapped or not
/// yet written. Names and attributes may still come from a cache. `files` is 0 if there are none.
/// May hang if the file system does.
[[nodiscard]] FolderSpeed read_folder(const std::string& path,
                                      const FolderSpeedLimits& limits = {});

/// The same for several folders, one after the other, within one common time, of which each may use
/// an equal part of what the earlier ones have left. Reads only the first few folders, and leaves
/// out those without files and those for which no time is left.
[[nodiscard]] std::vector<FolderSpeed> read_folders(const std::vector<std::string>& folders,
                                                    std::chrono::nanoseconds time);

/// The same for up to 100 files that it writes, reads and removes again, in a new folder `name` in
/// the first of the folders that is absolute, writable and not on a network file system. They are
/// read from the page cache, as a copy that was just made there. `files` is 0 if there is no such
/// folder.
[[nodiscard]] FolderSpeed read_local_sample(const std::vector<std::string>& folders,
                                            const std::string& name);
/// Removes what a read_local_sample() that was killed has left.
void remove_local_sample(const std::vector<std::string>& folders, const std::string& name);

/// The folder of the modules of the virtual or conda environment that a program is in: "/venv/lib"
/// for /venv/bin/python; empty: it is in none.
[[nodiscard]] std::string environment_of(const std::string& program);

}  // namespace dlaunch
