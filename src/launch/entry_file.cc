#include "launch/entry_file.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dlaunch {

EntryFile::Outcome EntryFile::open(const std::string& root, const SyncEntry& entry,
                                   bool may_have_grown) {
  size_ = entry.size;
  mtime_ = entry.mtime;
  may_have_grown_ = may_have_grown;
  offset_ = 0;
  const std::string path = root + '/' + entry.path;
  fd_.reset(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (fd_) return check();
  // Gone, or something else by now: as what is different by now.
  const bool changed = errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO;
  error_ = errno;
  return changed ? Outcome::changed : Outcome::failed;
}

EntryFile::Outcome EntryFile::check() {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) {
    error_ = errno;
    return Outcome::failed;
  }
  const auto size = static_cast<std::uint64_t>(info.st_size);
  const std::int64_t mtime =
      std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  const bool same = size == size_ && mtime == mtime_;
  const bool grown = may_have_grown_ && size >= size_;
  return S_ISREG(info.st_mode) && (same || grown) ? Outcome::good : Outcome::changed;
}

EntryFile::Outcome EntryFile::read(std::uint64_t size, std::string& bytes) {
  std::uint64_t left = std::min(size, size_ - offset_);
  while (left > 0) {
    const std::size_t before = bytes.size();
    bytes.resize(before + left);
    const ssize_t n = ::pread(fd_.get(), bytes.data() + before, left, static_cast<off_t>(offset_));
    bytes.resize(before + (n > 0 ? static_cast<std::size_t>(n) : 0));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      error_ = errno;
      return Outcome::failed;
    }
    if (n == 0) return Outcome::changed;  // shorter than it was
    offset_ += static_cast<std::uint64_t>(n);
    left -= static_cast<std::uint64_t>(n);
  }
  return at_end() ? check() : Outcome::good;
}

}  // namespace dlaunch
