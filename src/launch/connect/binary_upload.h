// Sends this program to a node whose shell waits for it (remote_script.h), part by part: each part
// is sent only after the node has acknowledged the one before (kUploadPart says why).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Lives on the loop's one thread.
class BinaryUpload {
 public:
  /// `line` is sent first. `binary` must outlive this.
  BinaryUpload(EventLoop& loop, UniqueFd to, std::string line, std::string_view binary);

  /// The node has taken that many parts.
  void taken(std::size_t parts);

 private:
  void watch();
  void write();

  WatchedFd to_;
  const std::string line_;
  const std::string_view binary_;
  std::size_t parts_ = 0;
  std::size_t sent_ = 0;      // of line and binary
  bool awaits_more_ = false;  // all that may be sent now was sent
};

}  // namespace dlaunch
