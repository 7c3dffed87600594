// Locks on single bytes of a file that end with the last descriptor of their open file description,
// however its holder dies (fcntl(2), open file description locks). Thread-safety: free functions
// without state.
#pragma once

#include <cstdint>

namespace dlaunch {

/// Takes or releases the lock on one byte, which need not exist; false: another process holds it,
/// or the file system has no locks (some NFS mounts).
bool set_byte_lock(int fd, std::int64_t byte, bool locked);

enum class LockSeen { free, held, unknown };

/// Whether another process holds the lock; takes none, so any number may look at the same time.
/// unknown: the file system cannot tell. `free` is no proof if the holder may run on another
/// machine.
[[nodiscard]] LockSeen look_at_byte_lock(int fd, std::int64_t byte);

}  // namespace dlaunch
