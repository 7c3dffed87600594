// Which cores of this machine a run of dlaunch has taken, so that two simultaneous runs do not pin
// their ranks to the same ones. Advisory. Each user has one empty file with mode 0600; its byte N
// stands for logical CPU N and is locked with an open-file-description lock (fcntl(2),
// F_OFD_SETLK). Other users cannot open the file, so they cannot lock it to keep its owner's ranks
// from being pinned. All users see the locks in /proc/locks (proc(5)), so their runs avoid each
// other's cores; they look there only while such a file has a modification time other than 0. A
// lock ends with the last descriptor of its holder, however the holder dies, so nothing has to be
// cleaned up. Containers with their own /dev/shm do not see each other. Thread-safety: one thread
// per object.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/result.h"

namespace dlaunch {

class CoreLocks {
 public:
  /// Opens dlaunch-cores-UID in `folder`, by default in /dev/shm, else in /tmp; makes it if it is
  /// missing. Refuses a symbolic link, anything else that is not a regular file, and a file that
  /// belongs to another user or is open to others. Without a file the caller may continue as if no
  /// core were taken.
  [[nodiscard]] static Result<CoreLocks> open(const std::string& folder = "");

  CoreLocks(CoreLocks&& other) noexcept;
  CoreLocks& operator=(CoreLocks&& other) noexcept;
  CoreLocks(const CoreLocks&) = delete;
  CoreLocks& operator=(const CoreLocks&) = delete;
  ~CoreLocks();

  /// Those of `cpus` that another run of any user has taken, in the given order.
  [[nodiscard]] std::vector<int> taken(const std::vector<int>& cpus) const;
  /// Takes all of them or none; locks that this object already holds stay held. Two users who ask
  /// for the same cores at the same moment may both get none.
  [[nodiscard]] bool try_lock(const std::vector<int>& cpus);
  /// Also marks the file as unused if no other run of this user holds a core.
  void unlock_all();

 private:
  void release();
  CoreLocks(int file, std::string folder) : file_(file), folder_(std::move(folder)) {}
  int file_;               // close-on-exec: ranks must not keep the locks alive
  std::string folder_;     // contains the files of other users too
  std::vector<int> held_;  // ascending
};

}  // namespace dlaunch
