// The text files of /proc, whose size nobody knows beforehand.
#pragma once

#include <string>

namespace dlaunch {

/// The whole file, at most `limit` bytes of it; what could be read if reading fails, empty if it
/// cannot be opened.
[[nodiscard]] std::string read_proc_file(const std::string& path,
                                         std::size_t limit = std::size_t{64} << 20);

}  // namespace dlaunch
