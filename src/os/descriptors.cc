#include "os/descriptors.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace dlaunch {

namespace {

std::vector<unsigned> open_descriptors() {
  std::vector<unsigned> open;
  if (DIR* folder = ::opendir("/proc/self/fd")) {
    while (const dirent* entry = ::readdir(folder)) {
      unsigned fd = 0;
      const char* end = entry->d_name + std::strlen(entry->d_name);
      if (std::from_chars(entry->d_name, end, fd).ec == std::errc()) open.push_back(fd);
    }
    ::closedir(folder);
    return open;
  }
  constexpr unsigned kNoProc = 65536;  // without /proc, the numbers that are likely
  for (unsigned fd = 0; fd < kNoProc; ++fd) open.push_back(fd);
  return open;
}

void close_between(unsigned first, unsigned last) {
  if (first > last) return;
  if (::close_range(first, last, 0) == 0) return;
  // Before Linux 5.9. The limit may be a thousand million (containers), so only those that exist.
  for (const unsigned fd : open_descriptors()) {
    if (fd >= first && fd <= last) ::close(static_cast<int>(fd));
  }
}

}  // namespace

void close_all_but(std::initializer_list<int> kept) {
  std::vector<int> sorted(kept);
  std::sort(sorted.begin(), sorted.end());
  unsigned next = 3;
  for (const int fd : sorted) {
    if (fd < static_cast<int>(next)) continue;
    close_between(next, static_cast<unsigned>(fd) - 1);
    next = static_cast<unsigned>(fd) + 1;
  }
  close_between(next, ~0U);
}

void redirect_to_null(std::initializer_list<int> descriptors) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  for (const int fd : descriptors) ::dup2(null, fd);
  if (null > 2) ::close(null);
}

OpenFileLimit raise_open_file_limit(unsigned long spare) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const OpenFileLimit before{limit.rlim_cur, limit.rlim_max};
  limit.rlim_cur = limit.rlim_max > 2 * spare ? limit.rlim_max - spare : limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return before;
}

std::size_t free_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::vector<unsigned> likely = open_descriptors();
  const auto open =
      static_cast<std::size_t>(std::count_if(likely.begin(), likely.end(), [](unsigned fd) {
        return ::fcntl(static_cast<int>(fd), F_GETFD) >= 0;
      }));
  return limit.rlim_cur > open ? limit.rlim_cur - open : 0;
}

}  // namespace dlaunch
