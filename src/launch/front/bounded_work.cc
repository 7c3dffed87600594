#include "launch/front/bounded_work.h"

#include <csignal>
#include <cstdio>
#include <vector>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/result.h"
#include "os/containment.h"
#include "os/stuck.h"
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
  // Without pidfds (Linux before 5.3) dlaunch starts no run, so there is nothing to record.
  const bool ended = end && ::poll(&watched, 1, static_cast<int>(limit.count())) > 0;
  if (ended) ::waitpid(pid, nullptr, 0);
  return ended ? 0 : pid;
}

WatchedWork watch_work(std::chrono::seconds limit, const std::function<int()>& work) {
  const pid_t pid = ::fork();
  if (pid <= 0) {
    if (pid == 0) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int code = work();
    if (pid < 0) return {code, {}};
    std::fflush(nullptr);
    ::_exit(code);
  }
  const UniqueFd end(open_pidfd(pid));
  std::chrono::seconds stuck{0};
  while (true) {
    pollfd watched{end.get(), POLLIN, 0};
    int status = 0;
    const int ready = end ? ::poll(&watched, 1, 1000) : 1;
    if (ready < 0) continue;
    if (ready > 0 && ::waitpid(pid, &status, 0) == pid) {
      const bool killed = WIFSIGNALED(status);
      return {killed ? exit_code::kSignalBase + WTERMSIG(status) : WEXITSTATUS(status), {}};
    }
    const std::vector<StuckProcess> found = find_stuck({pid});
    stuck = found.empty() ? std::chrono::seconds(0) : stuck + std::chrono::seconds(1);
    if (stuck < limit) continue;
    ::kill(pid, SIGKILL);
    return {0, describe(found)};
  }
}

}  // namespace dlaunch
