#include "launch/front/bounded_work.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/containment.h"
#include "os/unique_fd.h"

namespace dlaunch {

pid_t do_within(std::chrono::milliseconds limit, const std::function<void()>& work) {
  const pid_t pid = ::fork();
  if (pid <= 0) {
    work();
    if (pid == 0) ::_exit(0);
    return 0;
  }
  const UniqueFd end(open_pidfd(pid));
  pollfd watched{end.get(), POLLIN, 0};
  // Without pidfds (Linux before 5.3) dlaunch starts nothing that would have to be recorded.
  const bool ended = end && ::poll(&watched, 1, static_cast<int>(limit.count())) > 0;
  if (ended) ::waitpid(pid, nullptr, 0);
  return ended ? 0 : pid;
}

}  // namespace dlaunch
