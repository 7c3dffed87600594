#include "node/output/output_file.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "model/result.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kRetry{1};
// Bounds the memory for a disk that fills up repeatedly.
constexpr std::size_t kMostPieces = 1000;

}  // namespace

void StoredRanges::add(std::uint64_t begin, std::uint64_t size, std::uint64_t in_file) {
  if (size == 0) return;
  total_ += size;
  if (!pieces_.empty()) {
    Piece& last = pieces_.back();
    if (last.begin + last.size == begin && last.in_file + last.size == in_file) {
      last.size += size;
      return;
    }
  }
  pieces_.push_back({begin, size, in_file});
}

std::optional<StoredRanges::Piece> StoredRanges::from(std::uint64_t offset) const {
  if (offset >= end()) return std::nullopt;
  const auto found = std::partition_point(
      pieces_.begin(), pieces_.end(),
      [offset](const Piece& piece) { return piece.begin + piece.size <= offset; });
  const std::uint64_t skipped = offset > found->begin ? offset - found->begin : 0;
  return Piece{found->begin + skipped, found->size - skipped, found->in_file + skipped};
}

std::uint64_t StoredRanges::end() const {
  return pieces_.empty() ? 0 : pieces_.back().begin + pieces_.back().size;
}

int OutputFile::append(std::string_view bytes, MonotonicTime now) {
  const bool was_in_gap = error_ != 0;
  if (was_in_gap && (now < retry_at_ || !mark_gap())) {
    if (now >= retry_at_) retry_at_ = now + kRetry;
    offset_ += bytes.size();
    return 0;
  }
  error_ = open();
  if (error_ == 0) error_ = write(bytes);
  offset_ += bytes.size();
  if (error_ != 0) retry_at_ = now + kRetry;
  return was_in_gap ? 0 : error_;
}

int OutputFile::open() {
  if (file_) return 0;
  if (path_.empty()) return ENOENT;
  file_.reset(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  return file_ ? 0 : errno;
}

int OutputFile::write(std::string_view bytes) {
  std::uint64_t at = offset_;
  while (!bytes.empty()) {
    const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    const auto written = static_cast<std::size_t>(n);
    if (written == 0) return EIO;
    stored_.add(at, written, size_);
    at += written;
    size_ += written;
    bytes.remove_prefix(written);
  }
  return 0;
}

std::size_t OutputFile::take(int pipe, std::size_t size) {
  if (!may_splice_ || error_ != 0 || !file_) return 0;
  const ssize_t n = ::splice(pipe, nullptr, file_.get(), nullptr, size, SPLICE_F_NONBLOCK);
  // The file system does not support it, or the disk is full: use read and write from now on.
  if (n < 0 && errno != EAGAIN && errno != EINTR) may_splice_ = false;
  if (n <= 0) return 0;
  const auto moved = static_cast<std::uint64_t>(n);
  stored_.add(offset_, moved, size_);
  offset_ += moved;
  size_ += moved;
  return static_cast<std::size_t>(n);
}

bool OutputFile::ends_with_newline() const {
  char last = '\n';
  return size_ == 0 || ::pread(file_.get(), &last, 1, static_cast<off_t>(size_ - 1)) != 1 ||
         last == '\n';
}

bool OutputFile::mark_gap() {
  if (stored_.pieces() >= kMostPieces || open() != 0) return false;
  const std::string mark = (ends_with_newline() ? "[... " : "\n[... ") +
                           std::to_string(offset_ - std::max(stored_.end(), marked_)) +
                           " bytes lost: " + errno_text(error_) + "]\n";
  const ssize_t n = ::write(file_.get(), mark.data(), mark.size());
  if (n == static_cast<ssize_t>(mark.size())) {
    size_ += mark.size();
    marked_ = offset_;
    return true;
  }
  // Remove half a mark, which would look like output.
  if (n > 0 && ::ftruncate(file_.get(), static_cast<off_t>(size_)) == 0)
    ::lseek(file_.get(), static_cast<off_t>(size_), SEEK_SET);
  return false;
}

std::size_t OutputFile::read(const StoredRanges::Piece& piece, char* to, std::size_t size) const {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, piece.size));
  UniqueFd again;
  if (!file_) again.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  const int fd = file_ ? file_.get() : again.get();
  const ssize_t n = ::pread(fd, to, wanted, static_cast<off_t>(piece.in_file));
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

void OutputFile::close() {
  if (error_ != 0) mark_gap();
  error_ = 0;
  file_.reset();
}

}  // namespace dlaunch
