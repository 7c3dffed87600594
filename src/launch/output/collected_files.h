// The files of remote ranks in the run folder; bytes are written at their offset in the stream.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "os/unique_fd.h"

namespace dlaunch {

/// Lives on the engine's one thread. Writes are synchronous. Few files are open at a time, however
/// many ranks there are.
class CollectedFiles {
 public:
  /// Writes `bytes` at `offset` of a file, and creates it (mode 0600) if needed. A symbolic link at
  /// that path is an error. Returns 0 or an errno value; then some bytes may have been written.
  [[nodiscard]] int write(const std::string& path, std::uint64_t offset, std::string_view bytes);
  void close_all() {
    open_.clear();
    order_.clear();
  }

 private:
  /// -1 with errno: it cannot be opened.
  [[nodiscard]] int open(const std::string& path);

  std::map<std::string, UniqueFd> open_;
  std::deque<std::string> order_;  // the open ones, oldest first
};

}  // namespace dlaunch
