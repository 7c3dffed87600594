// Opens, names and locks files and folders so that other processes, and other users, cannot
// interfere. Thread-safety: free functions without state.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "model/result.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Follows links, as stat(2) does. False, with errno, if the path cannot be inspected.
[[nodiscard]] bool is_folder(const std::string& path);
[[nodiscard]] bool is_regular_file(const std::string& path);

/// A file without a name on the file system of `folder`, open for reading and writing (open(2)
/// O_TMPFILE): no reader sees half of it, and nothing is left if its writer is killed before
/// give_name(). `mode` is reduced by the umask. Invalid, with errno, where the file system has no
/// such files (NFS, overlayfs before Linux 6.6).
[[nodiscard]] UniqueFd open_unnamed_file(const std::string& folder, mode_t mode);

/// Gives an unnamed file the name `path`. Returns 0 or errno, EEXIST if the name is taken. Needs
/// /proc.
[[nodiscard]] int give_name(const UniqueFd& file, const std::string& path);

/// Opens a folder of this user that no other user may enter; `make`: first makes it and its parent
/// if they are missing. Error if it belongs to another user, is open to others, or is a link:
/// another user could replace what is in it.
[[nodiscard]] Result<UniqueFd> open_private_folder(const std::string& path, bool make);

/// Opens a folder of this user and locks it (flock(2)) without waiting. Invalid: it does not exist,
/// is a link, belongs to another user, or is locked by another process.
[[nodiscard]] UniqueFd lock_own_folder(const std::string& path);

/// Takes or releases the lock on one byte of a file; the byte need not exist. The lock ends with
/// the last descriptor of the open file description, however its holder dies (fcntl(2), open file
/// description locks). False: another process holds it, or the file system has no locks (some NFS
/// mounts).
bool set_byte_lock(int fd, std::int64_t byte, bool locked);

enum class LockSeen { free, held, unknown };

/// Whether another process holds the lock; takes no lock, so any number of processes may look at
/// the same time. unknown: the file system cannot tell. `free` proves nothing if the holder may run
/// on another machine.
[[nodiscard]] LockSeen look_at_byte_lock(int fd, std::int64_t byte);

}  // namespace dlaunch
