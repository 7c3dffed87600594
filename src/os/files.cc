#include "os/files.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dlaunch {

namespace {

struct flock one_byte(std::int64_t byte, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool is_regular_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

UniqueFd open_unnamed_file(const std::string& folder, mode_t mode) {
  return UniqueFd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
}

int give_name(const UniqueFd& file, const std::string& path) {
  // Works since Linux 6.10 for files that we have opened; before, only with CAP_DAC_READ_SEARCH.
  if (::linkat(file.get(), "", AT_FDCWD, path.c_str(), AT_EMPTY_PATH) == 0) return 0;
  if (errno != ENOENT) return errno;
  // Links through the file's entry in /proc, as open(2) shows.
  const std::string entry = "/proc/self/fd/" + std::to_string(file.get());
  const int failed = ::linkat(AT_FDCWD, entry.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW);
  return failed == 0 ? 0 : errno;
}

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

bool set_byte_lock(int fd, std::int64_t byte, bool locked) {
  struct flock lock = one_byte(byte, locked ? F_WRLCK : F_UNLCK);
  int done = 0;
  do {
    done = ::fcntl(fd, F_OFD_SETLK, &lock);
  } while (done != 0 && errno == EINTR);
  return done == 0;
}

LockSeen look_at_byte_lock(int fd, std::int64_t byte) {
  // A read lock conflicts with the holder's write lock and needs only a descriptor for reading.
  struct flock lock = one_byte(byte, F_RDLCK);
  if (::fcntl(fd, F_OFD_GETLK, &lock) != 0) return LockSeen::unknown;
  return lock.l_type == F_UNLCK ? LockSeen::free : LockSeen::held;
}

}  // namespace dlaunch
