// Which cores of this machine a run of dlaunch has taken, so that two runs at the same time do not
// pin their ranks to the same ones. Advisory. Each user has their own file, 0600 and empty: each
// logical CPU is one byte of it, locked with an open-file-description lock (fcntl(2), F_OFD_SETLK).
// Other users cannot open it, so they cannot lock it and keep its owner's ranks from being pinned.
// All users see the locks in /proc/locks (proc(5)), so their runs avoid each other's
// cores; they look there only while such a file has a time of last modification other than 0. A
// lock ends with the last descriptor of its holder, however the holder dies; nothing is left to
// clean up. Containers with a /dev/shm of their own do not see each other. Thread-safety: one
// thread per object.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/result.h"

namespace dlaunch {

class CoreLocks {
 public:
  /// Opens (and first makes) dlaunch-cores-UID in `folder`; if none is given, in /dev/shm, else in
  /// /tmp. Refuses a symbolic link, anything else that is not a regular file, and a file that
  /// belongs to another user or is open to others. Without a file the caller can go on as if no
  /// core were taken.
  [[nodiscard]] static Result<CoreLocks> open(const std::string& folder = "");

  CoreLocks(CoreLocks&& other) noexcept;
  CoreLocks& operator=(CoreLocks&& other) noexcept;
  CoreLocks(const CoreLocks&) = delete;
  CoreLocks& operator=(const CoreLocks&) = delete;
  ~CoreLocks();

  /// Those of `cpus` that another run has, of this user or another one, in the given order.
  [[nodiscard]] std::vector<int> taken(const std::vector<int>& cpus) const;
  /// All or none; those that this object already has stay its own either way. Two users who ask
  /// for the same ones in the same moment may both get none.
  [[nodiscard]] bool try_lock(const std::vector<int>& cpus);
  /// Also tells other users that the file is not in use, if no other run of this user holds a core.
  void unlock_all();

 private:
  void release();
  CoreLocks(int file, std::string folder) : file_(file), folder_(std::move(folder)) {}
  int file_;               // close-on-exec: ranks must not keep the locks alive
  std::string folder_;     // where those of other users are, too
  std::vector<int> held_;  // ascending
};

}  // namespace dlaunch
