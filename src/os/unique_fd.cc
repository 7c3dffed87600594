#include "os/unique_fd.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dlaunch {

void UniqueFd::reset(int fd) {
  // EINTR from close(2) on Linux still closes: never retried.
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

tl::expected<Pipe, int> make_pipe(int flags) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | flags) != 0) return tl::unexpected(errno);
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<std::pair<UniqueFd, UniqueFd>> make_socket_pair(int type) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail_errno(exit_code::kInternal, "socketpair", errno);
  }
  return std::pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

UniqueFd duplicate(int fd) {
  return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

void ensure_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
      // open(2) takes the lowest free number, which is `fd`: all lower ones are open by now.
      if (::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) < 0) return;
    }
  }
}

}  // namespace dlaunch
