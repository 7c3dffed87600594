// A file by which nodes find out that what they see is the folder of the launcher's machine itself,
// for example by NFS.
#pragma once

#include <string>
#include <utility>

namespace dlaunch {

/// Makes the file in its constructor, and removes it in its destructor. It also removes old
/// files of launchers that were killed.
class FolderMarker {
 public:
  FolderMarker() = default;
  explicit FolderMarker(std::string folder);
  ~FolderMarker() { remove(); }
  FolderMarker(FolderMarker&& other) noexcept { *this = std::move(other); }
  FolderMarker& operator=(FolderMarker&& other) noexcept;

  /// The name in the folder: sync::kMarkerPrefix and 32 hex digits. Empty: there is none, because
  /// the folder is read-only here.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  void remove();

  std::string folder_;
  std::string name_;
};

}  // namespace dlaunch
