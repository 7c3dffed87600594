// Which cores of this machine a run of dlaunch has taken, so that two runs at the same time do not
// pin their ranks to the same ones. Advisory, and the file's content does not matter: each logical
// CPU is one byte of a shared file, locked with an open-file-description lock (fcntl(2),
// F_OFD_SETLK). Such a lock ends with the last descriptor of its holder, however that one dies;
// nothing is ever left to clean up. Containers with a /dev/shm of their own do not see each other.
// Thread-safety: one thread per object.
#pragma once

#include <string>
#include <vector>

#include "model/result.h"

namespace dlaunch {

class CoreLocks {
 public:
  /// Opens (and first makes, for all users) dlaunch-cores in `folder`; if none is given, in
  /// /dev/shm, else in /tmp. A symbolic link or anything else that is no regular file is refused.
  /// Without a file the caller can go on as if no core were taken.
  [[nodiscard]] static Result<CoreLocks> open(const std::string& folder = "");

  CoreLocks(CoreLocks&& other) noexcept;
  CoreLocks& operator=(CoreLocks&& other) noexcept;
  CoreLocks(const CoreLocks&) = delete;
  CoreLocks& operator=(const CoreLocks&) = delete;
  ~CoreLocks();

  /// Those of `cpus` that somebody else has locked, in the given order.
  [[nodiscard]] std::vector<int> taken(const std::vector<int>& cpus) const;
  /// All or none; those that this object already has stay its own either way.
  [[nodiscard]] bool try_lock(const std::vector<int>& cpus);
  void unlock_all();

 private:
  explicit CoreLocks(int file) : file_(file) {}
  int file_;               // close-on-exec: ranks must not keep the locks alive
  std::vector<int> held_;  // ascending
};

}  // namespace dlaunch
