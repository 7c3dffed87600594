#include "node/sync/folder_marker.h"

#include <ctime>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/random.h"
#include "os/unique_fd.h"
#include "sync/rules.h"

namespace dlaunch {

namespace {

void remove_stale_markers(const std::string& folder) {
  constexpr std::time_t kStale = 60L * 60;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), &::closedir);
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    struct stat info {};
    if (name.size() != sync::kMarkerPrefix.size() + 32 || !name.starts_with(sync::kMarkerPrefix) ||
        ::fstatat(::dirfd(dir.get()), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    const bool is_one = S_ISREG(info.st_mode) && info.st_size == 0 && info.st_uid == ::geteuid();
    const auto age = ::time(nullptr) - info.st_mtim.tv_sec;
    if (is_one && age > kStale) ::unlinkat(::dirfd(dir.get()), entry->d_name, 0);
  }
}

}  // namespace

FolderMarker::FolderMarker(std::string folder) : folder_(std::move(folder)) {
  remove_stale_markers(folder_);
  const auto secret = random_secret();
  if (!secret) return;
  name_ = std::string(sync::kMarkerPrefix) + *secret;
  const std::string path = folder_ + '/' + name_;
  const UniqueFd made(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!made) name_.clear();
}

FolderMarker& FolderMarker::operator=(FolderMarker&& other) noexcept {
  if (this != &other) remove();
  folder_ = std::move(other.folder_);
  name_ = std::exchange(other.name_, {});
  return *this;
}

void FolderMarker::remove() {
  if (!name_.empty()) ::unlink((folder_ + '/' + name_).c_str());
  name_.clear();
}

}  // namespace dlaunch
