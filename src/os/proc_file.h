// The text files of /proc, whose size nobody knows beforehand.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch {

/// The whole file, at most `limit` bytes of it; what could be read if reading fails, empty if it
/// cannot be opened.
[[nodiscard]] std::string read_proc_file(const std::string& path,
                                         std::size_t limit = std::size_t{64} << 20);

/// Field `number` (3 or more, as proc(5) counts them) of the line in /proc/<pid>/stat; empty when
/// there is none. Field 2, the name, may hold anything, so fields are counted from its last ')'.
[[nodiscard]] std::string_view stat_field(std::string_view stat, int number);

}  // namespace dlaunch
