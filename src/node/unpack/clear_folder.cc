#include "node/unpack/clear_folder.h"

#include <cerrno>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dlaunch {

namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// A folder that its owner may neither read nor change, too. fchmodat(2) would follow a link, but
/// EACCES is about a folder (or is not ours).
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

/// A mount below what is cleared belongs to someone else.
bool is_same_mount(const UniqueFd& one, const UniqueFd& other) {
  struct statx a {};
  struct statx b {};
  const auto see = [](const UniqueFd& fd, struct statx& info) {
    return ::statx(fd.get(), "", AT_EMPTY_PATH, STATX_MNT_ID, &info) == 0;
  };
  if (!see(one, a) || !see(other, b)) return false;
  const bool knows = ((a.stx_mask & b.stx_mask) & STATX_MNT_ID) != 0;  // from Linux 5.8 on
  return (!knows || a.stx_mnt_id == b.stx_mnt_id) && a.stx_dev_major == b.stx_dev_major &&
         a.stx_dev_minor == b.stx_dev_minor;
}

}  // namespace

int clear_folder(const UniqueFd& folder, const std::function<void()>& step) {
  UniqueFd copy(::openat(folder.get(), ".", kFolder));
  const std::unique_ptr<DIR, int (*)(DIR*)> list(copy ? ::fdopendir(copy.get()) : nullptr,
                                                 &::closedir);
  if (!list) return errno;
  static_cast<void>(copy.release());
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(list.get());
    if (entry == nullptr) return errno;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
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

}  // namespace dlaunch
