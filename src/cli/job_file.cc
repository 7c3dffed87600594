#include "cli/job_file.h"

#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "os/unique_fd.h"
#include "spec/source.h"

namespace dlaunch {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{10};

/// True when there is something to read, or the end. A file is always ready.
bool is_ready(int fd, Clock::time_point deadline) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wanted{fd, POLLIN, 0};
    const int ready = ::poll(&wanted, 1, left < 0 ? 0 : static_cast<int>(left));
    if (ready >= 0 || errno != EINTR) return ready != 0;
  }
}

}  // namespace

Result<std::string> read_job_file(const std::string& path) {
  return read_bounded_file(path, "job file", spec::kMaxTextBytes + 1);
}

Result<std::string> read_bounded_file(const std::string& path, const std::string& kind,
                                      std::size_t most) {
  const std::string what = "cannot read the " + kind + ' ' + path;
  // Non-blocking: opening a pipe that nobody writes to would wait without a limit.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return fail_errno(exit_code::kJobFile, what, errno);
  const auto deadline = Clock::now() + kPatience;
  std::string text;
  char buffer[16384];
  while (text.size() < most) {
    if (!is_ready(fd.get(), deadline)) {
      return fail(exit_code::kJobFile, what +
                                           ": it is a pipe or a terminal, and its end did not "
                                           "come within 10 s");
    }
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n == 0) break;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) return fail_errno(exit_code::kJobFile, what, errno);
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

}  // namespace dlaunch
