#include "cli/child_run.h"

#include <cerrno>
#include <csignal>
#include <cstdio>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/engine/engine_main.h"
#include "launch/front/front.h"
#include "os/signals.h"

namespace dlaunch {

namespace {

/// Blocks the signals that wait_for() takes, and gives the mask of before back. What is ignored
/// (nohup does that to SIGHUP) stays so: blocked, it would be taken all the same.
class BlockedSignals {
 public:
  BlockedSignals() {
    std::signal(SIGCHLD, SIG_DFL);  // ignored, an exit status would be lost
    sigemptyset(&taken_);
    sigaddset(&taken_, SIGCHLD);
    sigaddset(&taken_, SIGTERM);
    for (const int number : {SIGINT, SIGHUP, SIGQUIT}) {
      if (!is_ignored(number)) sigaddset(&taken_, number);
    }
    ::sigprocmask(SIG_BLOCK, &taken_, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { restore(); }

  void restore() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  [[nodiscard]] const sigset_t& taken() const { return taken_; }

 private:
  sigset_t taken_{};
  sigset_t before_{};
};

/// The exit code as a shell has it. The front ends by itself, within limits of its own.
int wait_for(pid_t child, const sigset_t& signals, bool& told_to_stop) {
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : exit_code::kSignalBase + WTERMSIG(status);
    if (ended < 0 && errno != EINTR) return exit_code::kInternal;
    siginfo_t info{};
    const int number = ::sigwaitinfo(&signals, &info);
    if (number <= 0 || number == SIGCHLD) continue;
    told_to_stop = true;
    // The terminal's Ctrl-C has reached the child as well: it is of the same process group.
    if (info.si_code <= 0) ::kill(child, number);
  }
}

std::string content_of(int fd) {
  std::string text;
  char buffer[16384];
  off_t at = 0;
  while (true) {
    const ssize_t got = ::pread(fd, buffer, sizeof buffer, at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    at += got;
  }
}

}  // namespace

Result<ChildRun> run_in_child(RunOptions options) {
  const UniqueFd summary(::memfd_create("summary", MFD_CLOEXEC));
  if (!summary) return fail_errno(exit_code::kInternal, "memfd_create", errno);
  options.summary_copy = summary.get();
  std::fflush(nullptr);  // or the child would write it a second time
  const BlockedSignals signals;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return fail_errno(exit_code::kInternal, "fork", errno);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(exit_code::kInternal);
    signals.restore();
    const FrontOptions front{options.spec.stdin_for == StdinFor::rank0, false, options.quiet};
    const int code =
        run_front([&](UniqueFd link) { return engine_main(options, std::move(link)); }, front);
    std::fflush(nullptr);
    ::_exit(code);
  }
  ChildRun run;
  run.exit_code = wait_for(child, signals.taken(), run.told_to_stop);
  run.summary = content_of(summary.get());
  return run;
}

}  // namespace dlaunch
