#include "os/bounded_file.h"

#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/unique_fd.h"

namespace dlaunch {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLimit{10};

/// Whether there is something to read, or the end, before `deadline`. A file is always ready.
bool is_ready(int fd, Clock::time_point deadline) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wanted{fd, POLLIN, 0};
    const int ready = ::poll(&wanted, 1, left < 0 ? 0 : static_cast<int>(left));
    if (ready >= 0 || errno != EINTR) return ready != 0;
  }
}

// Non-blocking, because opening a pipe without a writer could wait forever.
constexpr int kHow = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

Result<std::string> read_all(const UniqueFd& fd, const std::string& problem, std::size_t most) {
  const auto deadline = Clock::now() + kLimit;
  std::string text;
  char buffer[16384];
  while (text.size() < most) {
    if (!is_ready(fd.get(), deadline)) {
      return fail(exit_code::kJobFile,
                  problem + ": it is a pipe or a terminal, and did not end within 10 s");
    }
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n == 0) break;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) return fail_errno(exit_code::kJobFile, problem, errno);
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

}  // namespace

Result<std::string> read_bounded_file(const std::string& path, const std::string& what,
                                      std::size_t most) {
  const std::string problem = "cannot read the " + what + ' ' + path;
  const UniqueFd fd(::open(path.c_str(), kHow));
  if (!fd) return fail_errno(exit_code::kJobFile, problem, errno);
  return read_all(fd, problem, most);
}

Result<std::string> read_plain_file(const std::string& path, std::size_t most) {
  const std::string problem = "cannot read " + path;
  const UniqueFd fd(::open(path.c_str(), kHow | O_NOFOLLOW));
  struct stat info {};
  if (!fd && errno == ELOOP) return fail(exit_code::kJobFile, problem + ": it is a link");
  if (!fd || ::fstat(fd.get(), &info) != 0) return fail_errno(exit_code::kJobFile, problem, errno);
  if (!S_ISREG(info.st_mode))
    return fail(exit_code::kJobFile, problem + ": it is not a regular file");
  return read_all(fd, problem, most);
}

}  // namespace dlaunch
