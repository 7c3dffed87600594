#include "os/kernel_log.h"

#include <array>
#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/unique_fd.h"

namespace dlaunch {

Result<std::string> read_kernel_log(std::string_view word) {
  constexpr std::size_t kMost = 64 * 1024;
  constexpr std::chrono::seconds kLimit{1};
  const UniqueFd log(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!log) {
    return fail(exit_code::kPreflight,
                errno == ENOENT ? "there is no /dev/kmsg here (a container?)"
                                : "cannot read /dev/kmsg (" + errno_text(errno) + "); root can");
  }
  std::string found;
  std::array<char, 8192> record;  // LOG_LINE_MAX and PREFIX_MAX of the kernel are below 2 KiB
  const auto begin = monotonic_now();
  while (monotonic_now() - begin < kLimit) {
    const ssize_t size = ::read(log.get(), record.data(), record.size());
    // EPIPE: records were overwritten before they were read; the next read continues after them.
    if (size < 0 && (errno == EPIPE || errno == EINTR)) continue;
    if (size <= 0) break;  // EAGAIN: that was the last
    std::string_view text(record.data(), static_cast<std::size_t>(size));
    text = text.substr(0, text.find('\n'));  // what follows are key=value lines
    if (text.find(word) == std::string_view::npos) continue;
    found.append(text).append("\n");
    if (found.size() > kMost) found.erase(0, found.find('\n', found.size() - kMost) + 1);
  }
  return found;
}

}  // namespace dlaunch
