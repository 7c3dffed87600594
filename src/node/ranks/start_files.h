// Files that the agent writes for ranks.
#pragma once

#include <vector>

#include "model/exit_status.h"
#include "model/result.h"
#include "wire/message.h"

namespace dlaunch {

/// Writes the files of a StartRanks, each with mode 0600, and makes missing folders with mode 0700.
/// Replaces an existing file; a symbolic link in its place is an error. Error: the first file that
/// could not be written, as a reason not to start.
[[nodiscard]] tl::expected<void, StartFailure> write_start_files(
    const std::vector<wire::StartFile>& files);

/// Writes seconds since the epoch and a newline to the file DLAUNCH_DEADLINE_FILE, atomically. A
/// failure has no consequence: ranks are signalled anyway.
void write_deadline(const wire::Deadline& deadline);

}  // namespace dlaunch
