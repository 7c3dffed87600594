// Reads the kernel's log.
#pragma once

#include <string>
#include <string_view>

#include "model/result.h"

namespace dlaunch {

/// The records of /dev/kmsg (Linux, Documentation/ABI/testing/dev-kmsg) that contain `word`, one
/// per line, oldest first; the last 64 KiB of them. Does not wait for new ones, and reads for at
/// most 1 s. Errors: exit_code::kPreflight, with advice, if it is missing or may not be read.
[[nodiscard]] Result<std::string> read_kernel_log(std::string_view word);

}  // namespace dlaunch
