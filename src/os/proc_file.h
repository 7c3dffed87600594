// Reads /proc: text files of unknown size, links, and folders whose entries are numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch {

/// At most `limit` bytes of the file: what could be read before an error, empty if it cannot be
/// opened.
[[nodiscard]] std::string read_proc_file(const std::string& path,
                                         std::size_t limit = std::size_t{64} << 20);

/// Target of a symbolic link; empty, with errno, if it cannot be read.
[[nodiscard]] std::string link_target(const std::string& path);

/// The entries of a folder that are numbers, in no order: processes of /proc, threads of
/// /proc/PID/task, descriptors of /proc/PID/fd. Empty if it cannot be opened.
[[nodiscard]] std::vector<int> numbered_entries(const std::string& folder);

/// Field `number` (3 or more, counted as in proc(5)) of the line in /proc/PID/stat; empty if there
/// is none. Field 2, the name, may contain anything, so counting starts at its last ')'.
[[nodiscard]] std::string_view stat_field(std::string_view stat, int number);

/// The number of a process or thread in its own PID namespace, from the text of its /proc status
/// (proc_pid_status(5), NSpid); 0: the kernel does not say.
[[nodiscard]] int number_in_own_namespace(std::string_view status);

/// Removes the text up to the first separator, and the separator; returns that text.
std::string_view take_until(std::string_view& text, char separator);

}  // namespace dlaunch
