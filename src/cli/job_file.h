// Reading a job file or a hostfile from a path, whatever stands there.
#pragma once

#include <cstddef>
#include <string>

#include "model/result.h"

namespace dlaunch {

/// The first spec::kMaxTextBytes + 1 bytes of a file, a pipe or a device; the reader of job files
/// refuses so many in its own words. Waits at most 10 s for a pipe (`dlaunch run <(make-job)`).
/// Errors: exit_code::kJobFile, with the path.
[[nodiscard]] Result<std::string> read_job_file(const std::string& path);

/// Likewise the first `most` bytes of any file; `what` is "job file" or so, for errors.
[[nodiscard]] Result<std::string> read_bounded_file(const std::string& path,
                                                    const std::string& what, std::size_t most);

}  // namespace dlaunch
