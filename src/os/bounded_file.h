// Reads a file that a user names, which may be a pipe or a device.
#pragma once

#include <cstddef>
#include <string>

#include "model/result.h"

namespace dlaunch {

/// Reads to the end, but stops once it has `most` bytes; may return up to 16 KiB more. Waits at
/// most 10 s for a pipe (`dlaunch run <(make-job)`). Errors: exit_code::kJobFile, with the path;
/// they call the file `what`, such as "job file".
[[nodiscard]] Result<std::string> read_bounded_file(const std::string& path,
                                                    const std::string& what, std::size_t most);

/// The same for a regular file in a folder that others may write to: error if `path` is a link or
/// anything else.
[[nodiscard]] Result<std::string> read_plain_file(const std::string& path, std::size_t most);

}  // namespace dlaunch
