// Holes: parts of a file that read as zeros and take up no disk space.
#pragma once

#include <cstdint>

#include <sys/stat.h>

namespace dlaunch {

/// How many of the file's first `size` bytes are in blocks of `block` bytes that lie entirely in
/// holes. 0 if the file system cannot tell. Holes after the first 10,000 do not count.
[[nodiscard]] std::uint64_t bytes_in_holes(int fd, std::uint64_t size, std::uint64_t block);

/// Whether the file may have holes that are worth looking for.
[[nodiscard]] bool may_have_holes(const struct stat& info);

/// Makes these bytes zeros, by a hole where the file system can; a shorter file grows. Returns 0 or
/// an errno.
[[nodiscard]] int make_hole(int fd, std::uint64_t offset, std::uint64_t size);

}  // namespace dlaunch
