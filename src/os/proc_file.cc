#include "os/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace dlaunch {

std::string read_proc_file(const std::string& path, std::size_t limit) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  std::array<char, 16384> block;
  while (text.size() < limit) {
    const ssize_t got = ::read(file, block.data(), std::min(block.size(), limit - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  ::close(file);
  return text;
}

}  // namespace dlaunch
