// A file that has no name until it is complete: no reader sees half of it, and nothing is left if
// its writer is killed.
#pragma once

#include <string>

#include <sys/types.h>

#include "os/unique_fd.h"

namespace dlaunch {

/// A file without a name on the file system of `folder`, open for reading and writing (open(2)
/// O_TMPFILE); `mode` is reduced by the umask. Invalid, with errno, where the file system has no
/// such files (NFS, overlayfs before Linux 6.6).
[[nodiscard]] UniqueFd open_unnamed_file(const std::string& folder, mode_t mode);

/// Gives it the name `path`. Returns 0 or errno, EEXIST if the name is taken. Needs /proc.
[[nodiscard]] int give_name(const UniqueFd& file, const std::string& path);

}  // namespace dlaunch
