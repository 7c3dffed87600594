#include "os/descriptors.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/proc_file.h"

namespace dlaunch {

namespace {

std::optional<rlimit> original;

/// The entries of /proc/self/fd; without /proc, all likely numbers.
std::vector<int> open_descriptors() {
  std::vector<int> open = numbered_entries("/proc/self/fd");
  if (!open.empty()) return open;
  constexpr int kNoProc = 65536;
  for (int fd = 0; fd < kNoProc; ++fd) open.push_back(fd);
  return open;
}

void close_between(unsigned first, unsigned last) {
  if (first > last) return;
  if (::close_range(first, last, 0) == 0) return;
  // For kernels before Linux 5.9. The limit may be 10^9 (containers), so close only what exists.
  for (const int fd : open_descriptors()) {
    if (static_cast<unsigned>(fd) >= first && static_cast<unsigned>(fd) <= last) ::close(fd);
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

OpenFileLimit open_file_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return {limit.rlim_cur, limit.rlim_max};
}

OpenFileLimit raise_open_file_limit(unsigned long spare) {
  const OpenFileLimit before = open_file_limit();
  if (!original) original = rlimit{before.soft, before.hard};
  const rlimit limit{before.hard > 2 * spare ? before.hard - spare : before.hard, before.hard};
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return before;
}

const rlimit* original_open_file_limit() {
  return original ? &*original : nullptr;
}

std::size_t free_descriptors() {
  const unsigned long limit = open_file_limit().soft;
  struct stat info {};
  // Since Linux 6.2 st_size is the number of open descriptors (proc(5)); before, it was 0.
  if (::stat("/proc/self/fd", &info) == 0 && info.st_size > 0) {
    const auto open = static_cast<std::size_t>(info.st_size);
    return limit > open ? limit - open : 0;
  }
  const std::vector<int> likely = open_descriptors();
  const auto open = static_cast<std::size_t>(std::count_if(
      likely.begin(), likely.end(), [](int fd) { return ::fcntl(fd, F_GETFD) >= 0; }));
  return limit > open ? limit - open : 0;
}

}  // namespace dlaunch
