#include "os/clear_folder.h"

#include <cerrno>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/proc_file.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// Opens even a folder that its owner may neither read nor change. fchmodat(2) would follow a link;
/// EACCES here means that it is a folder (or is not ours).
UniqueFd open_to_clear(int above, const char* name) {
  UniqueFd folder(::openat(above, name, kFolder));
  if (folder) {
    static_cast<void>(::fchmod(folder.get(), 0700));
  } else if (errno == EACCES) {
    const UniqueFd path(::openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const std::string way = "/proc/self/fd/" + std::to_string(path.get());
    if (path && ::chmod(way.c_str(), 0700) == 0) folder.reset(::openat(above, name, kFolder));
  }
  return folder;
}

/// Whether both are on the same mount: another mount below the cleared folder is not ours to clear.
bool is_same_mount(const UniqueFd& one, const UniqueFd& other) {
  // statx(2) reports the mount only since Linux 5.8.
  const auto mount = [](const UniqueFd& fd) {
    const std::string info = read_proc_file("/proc/self/fdinfo/" + std::to_string(fd.get()));
    const std::size_t at = info.find("mnt_id:");
    return at == std::string::npos ? std::string() : info.substr(at, info.find('\n', at) - at);
  };
  const std::string own = mount(one);
  return !own.empty() && own == mount(other);
}

using FolderList = std::unique_ptr<DIR, int (*)(DIR*)>;

/// Null, with errno, if it cannot be read.
FolderList list_of(const UniqueFd& folder) {
  UniqueFd copy(::openat(folder.get(), ".", kFolder));
  FolderList list(copy ? ::fdopendir(copy.get()) : nullptr, &::closedir);
  if (list) static_cast<void>(copy.release());
  return list;
}

bool is_itself_or_above(std::string_view name) {
  return name == "." || name == "..";
}

}  // namespace

int clear_folder(const UniqueFd& folder, const std::function<void()>& step,
                 const std::vector<std::string_view>& spared) {
  const FolderList list = list_of(folder);
  if (!list) return errno;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(list.get());
    if (entry == nullptr) return errno;
    const std::string_view name = entry->d_name;
    if (is_itself_or_above(name) || contains(spared, name)) continue;
    step();
    if (::unlinkat(folder.get(), entry->d_name, 0) == 0) continue;
    if (errno != EISDIR) return errno;  // unlink(2), for a folder
    const UniqueFd below = open_to_clear(folder.get(), entry->d_name);
    if (!below) return errno;
    if (!is_same_mount(folder, below)) return EBUSY;
    if (const int error = clear_folder(below, step); error != 0) return error;
    if (::unlinkat(folder.get(), entry->d_name, AT_REMOVEDIR) != 0) return errno;
  }
}

std::uint64_t bytes_below(const UniqueFd& folder) {
  constexpr std::uint64_t kBlock = 512;  // stat(2), st_blocks
  std::uint64_t bytes = 0;
  const FolderList list = list_of(folder);
  while (const dirent* const entry = list ? ::readdir(list.get()) : nullptr) {
    struct stat info {};
    if (is_itself_or_above(entry->d_name) ||
        ::fstatat(folder.get(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    if (S_ISDIR(info.st_mode)) {
      const UniqueFd below(::openat(folder.get(), entry->d_name, kFolder));
      if (below && is_same_mount(folder, below)) bytes += bytes_below(below);
    }
    if (S_ISDIR(info.st_mode) || info.st_nlink == 1)
      bytes += static_cast<std::uint64_t>(info.st_blocks) * kBlock;
  }
  return bytes;
}

}  // namespace dlaunch
