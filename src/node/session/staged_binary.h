// The copy of dlaunch in a cache folder that this process executes.
#pragma once

#include <cstdint>
#include <string>

#include "model/result.h"

namespace dlaunch {

/// Whether this process runs the complete binary that its launcher has staged: a crash of the node
/// can leave a file that is cut off, or ends in zeros, under the right name. Checks the build id,
/// the size (0: unknown) and that the last part of an ELF file is there (elf(5): the section
/// headers). Reads a few bytes. Error (kCannotExecute): one line that names the file.
[[nodiscard]] Status check_staged_binary(const std::string& build_id, std::uint64_t size);

/// Waits until this program's own file is on disk (fsync(2)). Error (kCannotExecute): this failed.
[[nodiscard]] Status sync_own_binary();

/// The binary's modification time says when it was last used: staging another build removes files
/// unused for 30 days (launch/connect/remote_script). Sets that time to now, unless it is less than
/// a day old. Does nothing for a program that was not staged.
void mark_staged_binary_used();

}  // namespace dlaunch
