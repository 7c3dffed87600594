// Which cores of this machine a run of dlaunch has taken, so that two runs at the same time do not
// pin their ranks to the same ones. Advisory. Each user has a file of his own, 0600 and empty: each
// logical CPU is one byte of it, locked with an open-file-description lock (fcntl(2), F_OFD_SETLK).
// Nobody else can open it, so nobody can lock it and keep its owner's ranks from being pinned; the
// locks on it are seen by all in /proc/locks (proc(5)), which is how runs of different users keep
// out of each other's way. A lock ends with the last descriptor of its holder, however that one
// dies; nothing is ever left to clean up. Containers with a /dev/shm of their own do not see each
// other. Thread-safety: one thread per object.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/result.h"

namespace dlaunch {

class CoreLocks {
 public:
  /// Opens (and first makes) dlaunch-cores-UID in `folder`; if none is given, in /dev/shm, else in
  /// /tmp. A symbolic link, anything else that is no regular file, and a file that is somebody
  /// else's or open to others are refused. Without a file the caller can go on as if no core were
  /// taken.
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
  void unlock_all();

 private:
  CoreLocks(int file, std::string folder) : file_(file), folder_(std::move(folder)) {}
  int file_;               // close-on-exec: ranks must not keep the locks alive
  std::string folder_;     // where those of other users are, too
  std::vector<int> held_;  // ascending
};

}  // namespace dlaunch
