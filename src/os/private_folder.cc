#include "os/private_folder.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dlaunch {

Result<UniqueFd> open_private_folder(const std::string& path, bool make) {
  if (make) {
    const std::size_t parent = path.rfind('/');
    // The cache folder may be missing too; its parents are not made.
    ::mkdir(path.substr(0, parent).c_str(), 0700);
    ::mkdir(path.c_str(), 0700);
  }
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return fail_errno(exit_code::kInternal, path, errno);
  struct stat about {};
  if (::fstat(folder.get(), &about) != 0) return fail_errno(exit_code::kInternal, path, errno);
  if (about.st_uid != ::geteuid())
    return fail(exit_code::kInternal, path + " belongs to another user");
  if ((about.st_mode & 077) != 0)
    return fail(exit_code::kInternal, path + " is open to others (its mode must be 0700)");
  return folder;
}

UniqueFd lock_own_folder(const std::string& path) {
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat about {};
  const bool is_ours = folder && ::fstat(folder.get(), &about) == 0 && about.st_uid == ::geteuid();
  if (!is_ours || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return {};
  return folder;
}

}  // namespace dlaunch
