#include "measure/run/child_run.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/engine/engine_main.h"
#include "launch/front/front.h"
#include "os/signals.h"
#include "os/unique_fd.h"

namespace dlaunch {

namespace {

// No line of a measuring rank is longer.
constexpr std::size_t kLongestLine = std::size_t{64} << 20U;

/// SIGCHLD, and the signals that are forwarded to the child. An ignored signal stays ignored (nohup
/// ignores SIGHUP): blocking it would still make it pending.
std::vector<int> watched_signals() {
  std::vector<int> signals{SIGCHLD, SIGTERM};
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2}) {
    if (!is_ignored(signal)) signals.push_back(signal);
  }
  return signals;
}

/// Blocks signals during its lifetime; they are read from a descriptor instead.
class WatchedSignals {
 public:
  WatchedSignals() {
    std::signal(SIGCHLD, SIG_DFL);  // inherited as ignored, exit codes would be lost (wait(2))
    ::sigprocmask(SIG_SETMASK, nullptr, &before_);
    block_signals(watched_signals());
    auto opened = open_signal_fd(watched_signals());
    if (opened) {
      fd_ = std::move(*opened);
    } else {
      failure_ = opened.error();
    }
  }
  WatchedSignals(const WatchedSignals&) = delete;
  WatchedSignals& operator=(const WatchedSignals&) = delete;
  ~WatchedSignals() { restore(); }

  void restore() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  sigset_t before_{};
  UniqueFd fd_;
  std::optional<Error> failure_;
};

/// What the parent does until the child has ended and its output is read.
class ChildWatch {
 public:
  ChildWatch(pid_t child, int signals, UniqueFd output, const OnLine& on_line)
      : child_(child), signals_(signals), output_(std::move(output)), on_line_(on_line) {}

  Result<ChildRun> run() {
    while (!status_ || output_) {
      std::array<pollfd, 2> watched{{{signals_, POLLIN, 0}, {output_.get(), POLLIN, 0}}};
      // Once the child has ended, output that another holder of the pipe still writes does not
      // count.
      if (::poll(watched.data(), watched.size(), status_ ? 0 : -1) < 0) continue;  // EINTR
      if (watched[0].revents != 0) take_signals();
      if (watched[1].revents != 0) {
        read_output();
      } else if (status_) {
        break;
      }
    }
    if (failure_) return tl::unexpected(*failure_);
    const int status = *status_;
    return ChildRun{
        WIFEXITED(status) ? WEXITSTATUS(status) : exit_code::kSignalBase + WTERMSIG(status),
        told_to_stop_};
  }

 private:
  void take_signals() {
    signalfd_siginfo signal{};
    while (::read(signals_, &signal, sizeof signal) == sizeof signal) {
      const int number = static_cast<int>(signal.ssi_signo);
      if (number == SIGCHLD) {
        reap();
        continue;
      }
      if (number != SIGUSR1 && number != SIGUSR2) told_to_stop_ = true;
      // The terminal's Ctrl-C has reached the child as well, which is in the same process group.
      if (signal.ssi_code <= 0 && !status_) ::kill(child_, number);
    }
  }

  void reap() {
    int status = 0;
    if (::waitpid(child_, &status, WNOHANG) == child_) status_ = status;
  }

  void read_output() {
    std::array<char, 65536> bytes;
    const ssize_t n = ::read(output_.get(), bytes.data(), bytes.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) return output_.reset();
    unread_.append(bytes.data(), static_cast<std::size_t>(n));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = unread_.find('\n', begin)) != std::string::npos;
         begin = end + 1)
      take(unread_.substr(begin, end - begin));
    unread_.erase(0, begin);
    if (unread_.size() > kLongestLine)
      give_up({exit_code::kInternal, "a line of output exceeds 64 MiB"});
  }

  void take(const std::string& line) {
    if (failure_) return;
    if (const Status taken = on_line_(line); !taken) give_up(taken.error());
  }

  void give_up(const Error& error) {
    if (!failure_) failure_ = error;
    unread_.clear();
    if (!status_) ::kill(child_, SIGTERM);
  }

  pid_t child_;
  int signals_;
  UniqueFd output_;
  const OnLine& on_line_;
  std::string unread_;
  std::optional<int> status_;  // from waitpid(2), once the child has ended
  std::optional<Error> failure_;
  bool told_to_stop_ = false;
};

[[noreturn]] void be_the_child(const RunOptions& options, pid_t parent, const UniqueFd& output,
                               const WatchedSignals& signals) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(exit_code::kInternal);
  signals.restore();
  if (output) ::dup2(output.get(), STDOUT_FILENO);
  const FrontOptions front{options.spec.stdin_for == StdinFor::rank0 ||
                               options.spec.stdin_for == StdinFor::rank, false, options.quiet};
  const int code =
      run_front([&](UniqueFd link) { return engine_main(options, std::move(link)); }, front);
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace

Result<ChildRun> run_in_child(const RunOptions& options, const OnLine& on_line) {
  Pipe output;
  if (on_line) {
    auto made = make_pipe();
    if (!made) return fail_errno(exit_code::kInternal, "pipe", made.error());
    output = std::move(*made);
  }
  std::fflush(nullptr);  // else the child would write buffered output a second time
  const WatchedSignals signals;
  if (signals.failure()) return tl::unexpected(*signals.failure());
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return fail_errno(exit_code::kInternal, "cannot fork", errno);
  if (child == 0) {
    output.read.reset();
    be_the_child(options, parent, output.write, signals);
  }
  output.write.reset();
  return ChildWatch(child, signals.fd(), std::move(output.read), on_line).run();
}

}  // namespace dlaunch
