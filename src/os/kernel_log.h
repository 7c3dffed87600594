// The kernel's log, as far as this process may read it.
#pragma once

#include <string>
#include <string_view>

#include "model/result.h"

namespace dlaunch {

/// The records of /dev/kmsg (Linux, Documentation/ABI/testing/dev-kmsg) that hold `word`, one a
/// line, oldest first; the last 64 KiB of them. Does not wait for new ones, and reads at most 1 s.
/// Errors: exit_code::kPreflight, with what to do, where it may not be read or is not there.
[[nodiscard]] Result<std::string> read_kernel_log(std::string_view word);

}  // namespace dlaunch
