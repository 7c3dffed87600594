// Waits for changes in folders (inotify(7)), as far as the system tells of them: a network file
// system does not tell of what other machines do, so every wait has a limit.
#pragma once

#include <chrono>
#include <string>

#include "os/unique_fd.h"

namespace dlaunch {

class FolderWatch {
 public:
  FolderWatch();
  /// Files that are created, written or renamed into the folder; false: it cannot be watched.
  bool add(const std::string& folder);
  /// Until something has changed since the last call, or `limit` (shorter where nothing can be
  /// watched).
  void wait(std::chrono::milliseconds limit);

 private:
  UniqueFd inotify_;
};

}  // namespace dlaunch
