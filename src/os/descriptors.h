// Inherited descriptors, and their limit.
#pragma once

#include <cstddef>
#include <initializer_list>

#include <sys/resource.h>

namespace dlaunch {

/// Closes every descriptor above 2 that is not in `kept` (close_range(2), Linux 5.9; else one by
/// one).
void close_all_but(std::initializer_list<int> kept);

/// Points the given descriptors at /dev/null.
void redirect_to_null(std::initializer_list<int> descriptors);

struct OpenFileLimit {
  unsigned long soft = 0;
  unsigned long hard = 0;
};
[[nodiscard]] OpenFileLimit open_file_limit();
/// Raises the soft limit of open files to the hard one minus `spare` (to the hard one if that is at
/// most 2 * spare), and returns the previous limits. A later call can use the spare descriptors.
OpenFileLimit raise_open_file_limit(unsigned long spare = 0);
/// For the programs that this process starts: the limits before it first raised its own; nullptr:
/// it has not raised them.
[[nodiscard]] const rlimit* original_open_file_limit();

/// How many more descriptors this process may open before EMFILE; inexact while other threads open
/// and close some.
[[nodiscard]] std::size_t free_descriptors();

}  // namespace dlaunch
