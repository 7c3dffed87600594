// Waits for changes in folders (inotify(7)). A network file system does not report changes by other
// machines, so every wait has a limit.
#pragma once

#include <chrono>
#include <string>

#include "os/unique_fd.h"

namespace dlaunch {

class FolderWatch {
 public:
  FolderWatch();
  /// Watches for files that are created, written or renamed into the folder; false: impossible.
  bool add(const std::string& folder);
  /// Waits until something has changed since the last call, or for `limit`; for a shorter time if
  /// nothing can be watched.
  void wait(std::chrono::milliseconds limit);

 private:
  UniqueFd inotify_;
};

}  // namespace dlaunch
