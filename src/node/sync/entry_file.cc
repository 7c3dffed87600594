#include "node/sync/entry_file.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/content_hash.h"
#include "sync/rules.h"

namespace dlaunch {

namespace {

constexpr int kRead = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
constexpr std::uint64_t kSamples = 16;
constexpr std::uint64_t kSampleBytes = 16 * 1024;

/// A hash over parts of the first `size` bytes; nullopt: they cannot be read.
std::optional<ContentHash> samples_of(int fd, std::uint64_t size) {
  ContentHasher hasher;
  const std::uint64_t length = std::min(size, kSampleBytes);
  std::string bytes(length, '\0');
  for (std::uint64_t i = 0; i < kSamples && length > 0; ++i) {
    const std::uint64_t at = size <= kSamples * kSampleBytes
                                 ? std::min(i * kSampleBytes, size - length)
                                 : (size - length) / (kSamples - 1) * i;
    const std::uint64_t from = i + 1 == kSamples ? size - length : at;
    if (::pread(fd, bytes.data(), length, static_cast<off_t>(from)) != static_cast<ssize_t>(length))
      return std::nullopt;
    hasher.add(bytes);
  }
  return hasher.hash();
}

}  // namespace

EntryFile::Outcome EntryFile::open(const std::string& root, const SyncEntry& entry,
                                   const ContentHash* samples) {
  size_ = entry.size;
  mtime_ = entry.mtime;
  samples_ = samples == nullptr ? std::nullopt : std::optional(*samples);
  offset_ = 0;
  error_ = 0;
  const std::string path = root + '/' + entry.path;
  fd_.reset(::open(path.c_str(), kRead));
  if (fd_) return check();
  // A file that was deleted or replaced by something else counts as changed.
  const bool changed = errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO;
  if (changed) return Outcome::changed;
  error_ = errno;
  return Outcome::failed;
}

std::optional<ContentHash> EntryFile::take_samples(const std::string& root, SyncEntry& entry) {
  const UniqueFd fd(::open((root + '/' + entry.path).c_str(), kRead));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  entry.size = static_cast<std::uint64_t>(info.st_size);
  entry.mtime = sync::nanoseconds(info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  return samples_of(fd.get(), entry.size);
}

EntryFile::Outcome EntryFile::check() {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) {
    error_ = errno;
    return Outcome::failed;
  }
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (!S_ISREG(info.st_mode)) return Outcome::changed;
  if (size == size_ && sync::nanoseconds(info.st_mtim.tv_sec, info.st_mtim.tv_nsec) == mtime_)
    return Outcome::good;
  // A file that was rewritten may be larger as well: the beginning must be unchanged.
  const bool grown = samples_ && size > size_ && samples_of(fd_.get(), size_) == samples_;
  return grown ? Outcome::good : Outcome::changed;
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
