#include "runs/rank_stream.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/unique_fd.h"

namespace dlaunch {

namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;

struct OpenedFile {
  UniqueFd fd;
  std::uint64_t size = 0;
};

/// A missing file counts as empty.
Result<OpenedFile> open_log(const std::string& path) {
  OpenedFile file;
  file.fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.fd && errno == ENOENT) return file;
  if (!file.fd) return fail_errno(exit_code::kInternal, path, errno);
  struct stat info {};
  if (::fstat(file.fd.get(), &info) != 0) return fail_errno(exit_code::kInternal, path, errno);
  if (!S_ISREG(info.st_mode)) return fail(exit_code::kInternal, path + " is not a regular file");
  file.size = static_cast<std::uint64_t>(info.st_size);
  return file;
}

Result<std::string> read_at(const OpenedFile& file, const std::string& path, std::uint64_t offset,
                            std::size_t size) {
  std::string bytes(size, '\0');
  ssize_t n = 0;
  do {
    n = ::pread(file.fd.get(), bytes.data(), size, static_cast<off_t>(offset));
  } while (n < 0 && errno == EINTR);
  if (n < 0) return fail_errno(exit_code::kInternal, "cannot read " + path, errno);
  bytes.resize(static_cast<std::size_t>(n));
  return bytes;
}

}  // namespace

RankStream::RankStream(const std::string& attempt_folder, Rank rank, Stream stream)
    : rank_(rank),
      stream_(stream),
      path_(attempt_folder + "/rank-" + std::to_string(rank.value) +
            (stream == Stream::out ? ".out" : ".err")) {}

Status RankStream::skip_to_last(std::uint32_t lines) {
  const auto file = open_log(path_);
  if (!file) return tl::unexpected(file.error());
  std::uint64_t end = file->size;
  offset_ = end;
  if (lines == 0) return {};
  // Does not count the newline that ends the last line.
  std::uint64_t wanted = std::uint64_t{lines} + 1;
  bool is_last_byte = true;
  while (end > 0) {
    const std::uint64_t begin = end - std::min<std::uint64_t>(end, kPiece);
    const auto bytes = read_at(*file, path_, begin, static_cast<std::size_t>(end - begin));
    if (!bytes) return tl::unexpected(bytes.error());
    for (std::size_t i = bytes->size(); i > 0; --i) {
      const bool ends_line = (*bytes)[i - 1] == '\n';
      if (is_last_byte && !ends_line) --wanted;  // the last line has no newline yet
      is_last_byte = false;
      if (ends_line && --wanted == 0) {
        offset_ = begin + i;
        return {};
      }
    }
    end = begin;
  }
  offset_ = 0;
  return {};
}

Result<bool> RankStream::skip_to_last_bytes(std::uint64_t bytes) {
  const auto file = open_log(path_);
  if (!file) return tl::unexpected(file.error());
  offset_ = file->size - std::min(file->size, bytes);
  return offset_ > 0;
}

Result<std::string> RankStream::next(std::uint64_t end) {
  if (end <= offset_) return std::string();
  const auto file = open_log(path_);
  if (!file) return tl::unexpected(file.error());
  if (file->size <= offset_) return std::string();
  const std::uint64_t left = std::min(file->size, end) - offset_;
  auto bytes = read_at(*file, path_, offset_,
                       static_cast<std::size_t>(std::min<std::uint64_t>(left, kPiece)));
  if (bytes) offset_ += bytes->size();
  return bytes;
}

}  // namespace dlaunch
