// A file that shows nodes that the folder they see is the launcher's own, for example over NFS.
#pragma once

#include <string>
#include <utility>

namespace dlaunch {

/// The constructor makes the file and removes old ones of launchers that were killed; the
/// destructor removes the file.
class FolderMarker {
 public:
  FolderMarker() = default;
  explicit FolderMarker(std::string folder);
  ~FolderMarker() { remove(); }
  FolderMarker(FolderMarker&& other) noexcept { *this = std::move(other); }
  FolderMarker& operator=(FolderMarker&& other) noexcept;

  /// The name in the folder: sync::kMarkerPrefix and 32 hex digits. Empty: there is none, usually
  /// because the folder is read-only here.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  void remove();

  std::string folder_;
  std::string name_;
};

}  // namespace dlaunch
