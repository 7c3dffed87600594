#include "node/sync/sync_tree.h"

#include <cerrno>
#include <cstdio>
#include <limits>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/content_hash.h"
#include "os/random.h"
#include "os/write_all.h"

namespace dlaunch {

namespace {

constexpr int kFolder = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kPermissions = 0777;
constexpr std::int64_t kBillion = 1'000'000'000;

int result(int returned) {
  return returned == 0 ? 0 : errno;
}

timespec time_of(std::int64_t nanoseconds) {
  std::int64_t seconds = nanoseconds / kBillion;
  std::int64_t rest = nanoseconds % kBillion;
  if (rest < 0) {  // tv_nsec is never negative
    rest += kBillion;
    --seconds;
  }
  return {static_cast<time_t>(seconds), static_cast<long>(rest)};
}

std::string part_name() {
  return random_name(".dlaunch-part-");
}

std::optional<struct statvfs> file_system_of(int folder) {
  struct statvfs info {};
  const std::string path = "/proc/self/fd/" + std::to_string(folder) + "/.";
  return ::statvfs(path.c_str(), &info) == 0 ? std::optional(info) : std::nullopt;
}

/// Like mkdir -p. Returns the error of the last component, or 0.
int make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1))
    ::mkdir(path.substr(0, end).c_str(), kPermissions);
  return ::mkdir(path.c_str(), kPermissions) == 0 || errno == EEXIST ? 0 : errno;
}

}  // namespace

int SyncTree::open(const std::string& root, bool make) {
  way_.clear();
  constexpr int kRoot = O_PATH | O_DIRECTORY | O_CLOEXEC;
  root_.reset(::open(root.c_str(), kRoot));
  if (root_ || errno != ENOENT || !make) return root_ ? 0 : errno;
  if (const int error = make_folders(root); error != 0) return error;
  root_.reset(::open(root.c_str(), kRoot));
  return root_ ? 0 : errno;
}

int SyncTree::check_writable() const {
  return result(::faccessat(root_.get(), ".", W_OK | X_OK, AT_EACCESS));
}

bool SyncTree::has(const std::string& name) const {
  struct stat info {};
  return name.find('/') == std::string::npos &&
         ::fstatat(root_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

std::uint64_t SyncTree::room() const {
  const auto info = file_system_of(root_.get());
  if (!info || info->f_blocks == 0) return std::numeric_limits<std::uint64_t>::max();
  return std::uint64_t{info->f_bavail} * info->f_frsize;
}

std::uint64_t SyncTree::room_for_files() const {
  const auto info = file_system_of(root_.get());
  if (!info || info->f_files == 0) return std::numeric_limits<std::uint64_t>::max();
  return info->f_favail;
}

std::uint64_t SyncTree::device() const {
  struct stat info {};
  return ::fstat(root_.get(), &info) == 0 ? info.st_dev : 0;
}

void SyncTree::stay_on_mount(bool stays) {
  if (stays && !stays_on_mount_) way_.clear();  // steps that may have crossed a mount point
  stays_on_mount_ = stays;
}

UniqueFd SyncTree::step_into(int above, const std::string& name) const {
  if (!stays_on_mount_) return UniqueFd(::openat(above, name.c_str(), kFolder));
  open_how how{};
  how.flags = kFolder;
  how.resolve = RESOLVE_NO_XDEV;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, above, name.c_str(), &how, sizeof how)));
  // Linux before 5.6 lacks openat2(2), and filters of some containers forbid it: refuse at least
  // other devices.
  if (fd || (errno != ENOSYS && errno != EPERM)) return fd;
  fd.reset(::openat(above, name.c_str(), kFolder));
  struct stat info {};
  if (!fd || (::fstat(fd.get(), &info) == 0 && info.st_dev == device())) return fd;
  errno = EXDEV;
  return {};
}

/// The descriptor of the folder that contains `path`, or -1 and errno; sets `name` to the last
/// component. Folders stay open for the next path.
int SyncTree::folder_of(const std::string& path, std::string& name) {
  std::size_t begin = 0;
  std::size_t depth = 0;
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', begin)) {
    std::string step = path.substr(begin, end - begin);
    begin = end + 1;
    if (depth < way_.size() && way_[depth].name == step) {
      ++depth;
      continue;
    }
    way_.resize(depth);
    const int above = depth == 0 ? root_.get() : way_.back().fd.get();
    UniqueFd fd = step_into(above, step);
    if (!fd) return -1;
    way_.push_back({std::move(step), std::move(fd)});
    ++depth;
  }
  way_.resize(depth);
  name = path.substr(begin);
  return depth == 0 ? root_.get() : way_.back().fd.get();
}

sync::Found SyncTree::look(const std::string& path) {
  sync::Found found;
  std::string name;
  const int folder = folder_of(path, name);
  struct stat info {};
  if (folder < 0 || ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return found;
  found.mode = info.st_mode & kPermissions;
  if (S_ISDIR(info.st_mode)) {
    found.kind = sync::Found::Kind::folder;
  } else if (S_ISREG(info.st_mode)) {
    found.kind = sync::Found::Kind::file;
    found.size = static_cast<std::uint64_t>(info.st_size);
    found.mtime = sync::nanoseconds(info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    found.device = info.st_dev;
    found.inode = info.st_ino;
    found.names = info.st_nlink;
  } else if (S_ISLNK(info.st_mode)) {
    found.kind = sync::Found::Kind::link;
    found.target.resize(4096);
    const ssize_t n = ::readlinkat(folder, name.c_str(), found.target.data(), found.target.size());
    found.target.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  } else {
    found.kind = sync::Found::Kind::other;
  }
  return found;
}

UniqueFd SyncTree::open_file(const std::string& path) {
  std::string name;
  const int folder = folder_of(path, name);
  if (folder < 0) return {};
  // O_NONBLOCK, because a FIFO may have taken the file's place.
  return UniqueFd(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

UniqueFd SyncTree::open_folder(const std::string& path) {
  std::string name;
  const int folder = folder_of(path, name);
  if (folder < 0) return {};
  return UniqueFd(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

int SyncTree::make_folder(const std::string& path) {
  std::string name;
  const int folder = folder_of(path, name);
  return folder < 0 ? errno : result(::mkdirat(folder, name.c_str(), 0700));
}

int SyncTree::make_link(const std::string& path, const std::string& target) {
  std::string name;
  const int folder = folder_of(path, name);
  if (folder < 0) return errno;
  const std::string part = part_name();
  if (::symlinkat(target.c_str(), folder, part.c_str()) != 0) return errno;
  if (::renameat(folder, part.c_str(), folder, name.c_str()) == 0) return 0;
  const int error = errno;
  ::unlinkat(folder, part.c_str(), 0);
  return error;
}

int SyncTree::make_hard_link(const std::string& path, const std::string& other) {
  std::string other_name;
  const int other_folder = folder_of(other, other_name);
  if (other_folder < 0) return errno;
  const UniqueFd from = duplicate(other_folder);  // the next path may close it
  std::string name;
  const int folder = folder_of(path, name);
  if (folder < 0) return errno;
  const std::string part = part_name();
  if (::linkat(from.get(), other_name.c_str(), folder, part.c_str(), 0) != 0) return errno;
  const int error = result(::renameat(folder, part.c_str(), folder, name.c_str()));
  // rename(2) leaves both names if they are already names of the same file.
  ::unlinkat(folder, part.c_str(), 0);
  return error;
}

int SyncTree::make_file(const std::string& path, UniqueFd& file) {
  std::string name;
  const int folder = folder_of(path, name);
  if (folder < 0) return errno;
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  file.reset(::openat(folder, name.c_str(), kNew, 0600));
  if (file || errno != EEXIST) return file ? 0 : errno;
  if (::unlinkat(folder, name.c_str(), 0) != 0) return errno;
  file.reset(::openat(folder, name.c_str(), kNew, 0600));
  return file ? 0 : errno;
}

int SyncTree::set(const SyncEntry& entry, bool time) {
  std::string name;
  const int folder = folder_of(entry.path, name);
  if (folder < 0) return errno;
  // Sets them through a descriptor, because fchmodat(2) would follow a link that was made in the
  // meantime.
  UniqueFd fd(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == EACCES) {  // perhaps ours but not readable: use /proc
    fd.reset(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    if (!fd || ::fstat(fd.get(), &info) != 0 || S_ISLNK(info.st_mode)) return EACCES;
  }
  if (!fd) return errno;
  const std::string way = "/proc/self/fd/" + std::to_string(fd.get());
  if (::chmod(way.c_str(), entry.mode & kPermissions) != 0) return errno;
  if (!time) return 0;
  const timespec times[2] = {{0, UTIME_NOW}, time_of(entry.mtime)};
  return result(::utimensat(AT_FDCWD, way.c_str(), times, 0));
}

int SyncTree::set_mode(const SyncEntry& entry) {
  return set(entry, false);
}

int SyncTree::set_mode_and_time(const SyncEntry& entry) {
  return set(entry, true);
}

int SyncTree::set_mode_and_time(const UniqueFd& file, const SyncEntry& entry) {
  if (::fchmod(file.get(), entry.mode & kPermissions) != 0) return errno;
  const timespec times[2] = {{0, UTIME_NOW}, time_of(entry.mtime)};
  return result(::futimens(file.get(), times));
}

int SyncTree::exchange(const std::string& path, const std::string& other) {
  return move(path, other, RENAME_EXCHANGE);
}

int SyncTree::rename(const std::string& path, const std::string& to) {
  return move(path, to, 0);
}

int SyncTree::move(const std::string& path, const std::string& to, unsigned flags) {
  std::string name;
  const int folder = folder_of(path, name);
  if (folder < 0) return errno;
  const UniqueFd from = duplicate(folder);  // the next path may close it
  std::string new_name;
  const int new_folder = folder_of(to, new_name);
  if (new_folder < 0) return errno;
  const int error =
      result(::renameat2(from.get(), name.c_str(), new_folder, new_name.c_str(), flags));
  way_.clear();  // these names now belong to other folders
  return error;
}

int SyncTree::remove(const std::string& path, bool is_folder) {
  std::string name;
  const int folder = folder_of(path, name);
  if (folder < 0) return errno;
  return result(::unlinkat(folder, name.c_str(), is_folder ? AT_REMOVEDIR : 0));
}

SyncTree::NewFile& SyncTree::NewFile::operator=(NewFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  fd_ = std::move(other.fd_);
  folder_ = std::move(other.folder_);
  part_ = std::exchange(other.part_, {});
  return *this;
}

void SyncTree::NewFile::discard() {
  if (fd_ && !part_.empty()) ::unlinkat(folder_.get(), part_.c_str(), 0);
  part_.clear();
  fd_.reset();
  folder_.reset();
}

int SyncTree::NewFile::write(std::string_view bytes) const {
  return write_all(fd_.get(), bytes);
}

int SyncTree::begin_file(const std::string& path, NewFile& file) {
  file.discard();
  std::string name;
  const int folder = folder_of(path, name);
  if (folder < 0) return errno;
  file.folder_ = duplicate(folder);
  if (!file.folder_) return EMFILE;
  if (unnamed_works_) {
    file.fd_.reset(::openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    // These are the errors of a file system or kernel without unnamed files (open(2)).
    unnamed_works_ =
        file.fd_ || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL);
    if (unnamed_works_) return file.fd_ ? 0 : errno;
  }
  std::string part = part_name();
  file.fd_.reset(
      ::openat(folder, part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.fd_) return errno;
  file.part_ = std::move(part);
  return 0;
}

int SyncTree::finish_file(const SyncEntry& entry, NewFile& file) {
  std::string name;
  const int folder = folder_of(entry.path, name);
  if (folder < 0) return errno;
  if (const int error = set_mode_and_time(file.fd_, entry); error != 0) return error;
  if (file.part_.empty()) {
    const std::string unnamed = "/proc/self/fd/" + std::to_string(file.fd_.get());
    const auto give_name = [&](const std::string& to) {
      return result(::linkat(AT_FDCWD, unnamed.c_str(), folder, to.c_str(), AT_SYMLINK_FOLLOW));
    };
    int error = give_name(name);
    if (error == 0) {
      file.fd_.reset();
      return 0;
    }
    if (error != EEXIST) return error;
    std::string part = part_name();
    if (error = give_name(part); error != 0) return error;
    file.part_ = std::move(part);
  }
  if (::renameat(file.folder_.get(), file.part_.c_str(), folder, name.c_str()) != 0) return errno;
  file.part_.clear();
  file.fd_.reset();
  return 0;
}

// ---- parts

std::string SyncTree::part_of(const std::string& name) {
  ContentHasher hasher;
  hasher.add(name);
  return ".dlaunch-stage-" + hex_text(hasher.hash());
}

int SyncTree::open_part(const std::string& path, bool make, UniqueFd& part) {
  std::string name;
  const int folder = folder_of(path, name);
  if (folder < 0) return errno;
  const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (make ? O_CREAT : 0);
  UniqueFd fd(::openat(folder, part_of(name).c_str(), flags, 0600));
  if (!fd) return errno;
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno;
  // Never write to another user's file, or to a file that also has another name.
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || info.st_nlink > 1) return EPERM;
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return errno;
  // Its writer may have given it the file's name in the meantime.
  struct stat now {};
  if (::fstatat(folder, part_of(name).c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0 ||
      now.st_dev != info.st_dev || now.st_ino != info.st_ino)
    return EWOULDBLOCK;
  part = std::move(fd);
  return 0;
}

int SyncTree::finish_part(const SyncEntry& entry, UniqueFd& part) {
  std::string name;
  const int folder = folder_of(entry.path, name);
  if (folder < 0) return errno;
  if (const int error = set_mode_and_time(part, entry); error != 0) return error;
  return result(::renameat(folder, part_of(name).c_str(), folder, name.c_str()));
}

int SyncTree::remove_part(const std::string& path) {
  std::string name;
  const int folder = folder_of(path, name);
  return folder < 0 ? errno : result(::unlinkat(folder, part_of(name).c_str(), 0));
}

}  // namespace dlaunch
