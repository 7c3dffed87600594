#include "os/sparse_file.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "os/write_all.h"

namespace dlaunch {

std::uint64_t bytes_in_holes(int fd, std::uint64_t size, std::uint64_t block) {
  constexpr int kMostHoles = 10'000;
  std::uint64_t bytes = 0;
  std::uint64_t at = 0;
  for (int i = 0; i < kMostHoles && at < size; ++i) {
    const off_t hole = ::lseek(fd, static_cast<off_t>(at), SEEK_HOLE);
    if (hole < 0) break;
    const off_t data = ::lseek(fd, hole, SEEK_DATA);
    if (data < 0 && errno != ENXIO) break;
    at = data < 0 ? size : std::min(static_cast<std::uint64_t>(data), size);
    const std::uint64_t begin = (static_cast<std::uint64_t>(hole) + block - 1) / block * block;
    const std::uint64_t end = at == size ? size : at / block * block;
    if (begin < end) bytes += end - begin;
  }
  return bytes;
}

bool may_have_holes(const struct stat& info) {
  constexpr off_t kLeast = 1 << 20;
  constexpr off_t kStatBlock = 512;  // the unit of st_blocks
  return info.st_size >= kLeast && info.st_blocks < info.st_size / kStatBlock;
}

int make_hole(int fd, std::uint64_t offset, std::uint64_t size) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return errno;
  const auto old_size = static_cast<std::uint64_t>(info.st_size);
  const std::uint64_t end = offset + size;
  if (offset < old_size) {
    constexpr int kHow = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    const std::uint64_t filled = std::min(end, old_size) - offset;
    int result = 0;
    do {
      result = ::fallocate(fd, kHow, static_cast<off_t>(offset), static_cast<off_t>(filled));
    } while (result != 0 && errno == EINTR);
    if (result != 0) {
      if (const int error = write_all_at(fd, offset, std::string(filled, '\0')); error != 0)
        return error;
    }
  }
  return end <= old_size || ::ftruncate(fd, static_cast<off_t>(end)) == 0 ? 0 : errno;
}

}  // namespace dlaunch
