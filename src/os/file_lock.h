// Locks on single bytes of a file that end with the last descriptor of their open file description,
// however its holder dies (fcntl(2), open file description locks). Thread-safety: free functions
// without state.
#pragma once

#include <cstdint>

namespace dlaunch {

/// Takes or gives back the lock on one byte, which need not exist; false: somebody else has it, or
/// the file system has no locks (some NFS mounts).
bool set_byte_lock(int fd, std::int64_t byte, bool locked);

enum class LockSeen { free, held, unknown };

/// Whether somebody else holds the lock; takes none, so any number may look at the same time.
/// unknown: the file system cannot tell. Free on another machine may mean that its locks do not
/// travel.
[[nodiscard]] LockSeen look_at_byte_lock(int fd, std::int64_t byte);

}  // namespace dlaunch
