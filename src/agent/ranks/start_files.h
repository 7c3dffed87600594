// Files of a StartRanks, written before its first rank starts.
#pragma once

#include <vector>

#include "model/exit_status.h"
#include "model/result.h"
#include "wire/message.h"

namespace dlaunch {

/// Writes all of them, each with mode 0600, in folders that get mode 0700 where they are missing.
/// An existing file is replaced; a symbolic link in its place is an error. On failure: the first
/// file that could not be written, as a reason not to start.
[[nodiscard]] tl::expected<void, StartFailure> write_start_files(
    const std::vector<wire::StartFile>& files);

}  // namespace dlaunch
