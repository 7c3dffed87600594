#include "os/program_output.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/containment.h"
#include "os/process_identity.h"
#include "os/spawn.h"
#include "os/unique_fd.h"

extern char** environ;

namespace dlaunch {

namespace {

constexpr std::size_t kMostBytes = std::size_t{64} * 1024;

tl::expected<pid_t, int> start(const std::vector<std::string>& argv, int output,
                               const Environment* environment) {
  const std::vector<const char*> pointers = argv_pointers(argv);
  std::vector<std::string> entries;
  if (environment != nullptr) {
    for (const auto& [name, value] : *environment) entries.push_back(name + '=' + value);
  }
  const std::vector<const char*> own = argv_pointers(entries);
  // posix_spawnp(3) does not change them, despite its type.
  char* const* const envp = environment != nullptr ? const_cast<char* const*>(own.data()) : environ;
  // Agents and engines have all signals blocked.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, pointers.front(), &actions, &attributes,
                                   const_cast<char* const*>(pointers.data()), envp);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return tl::unexpected(error);
  return pid;
}

Error cannot_execute(const std::string& name, int error) {
  const std::string text = "cannot execute \"" + name + "\": " + errno_text(error);
  return {error == ENOENT ? exit_code::kNotFound : exit_code::kCannotExecute, text};
}

Error too_late(const std::string& name, std::chrono::milliseconds limit) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(limit).count();
  return {exit_code::kTimeLimit,
          '"' + name + "\" has not ended within " + std::to_string(seconds) + " s"};
}

/// Reads to the end; false: the limit has passed.
bool read_all(int fd, MonotonicTime end, std::string& text) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - monotonic_now());
    pollfd ready{fd, POLLIN, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    char buffer[4096];
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    const std::size_t room = kMostBytes - text.size();
    text.append(buffer, std::min(static_cast<std::size_t>(got), room));
  }
}

/// False: it has not ended by then. Polls, because pidfds need Linux 5.3.
bool reap(pid_t pid, MonotonicTime end) {
  constexpr int kPauseMs = 2;
  while (true) {
    const pid_t reaped = ::waitpid(pid, nullptr, WNOHANG);
    if (reaped != 0 && (reaped > 0 || errno != EINTR)) return true;
    if (monotonic_now() >= end) return false;
    ::poll(nullptr, 0, kPauseMs);
  }
}

}  // namespace

Result<std::string> program_output(const std::vector<std::string>& argv,
                                   std::chrono::milliseconds limit,
                                   const Environment* environment) {
  auto pipe = make_pipe();
  if (!pipe) return fail_errno(exit_code::kInternal, "pipe", pipe.error());
  const auto pid = start(argv, pipe->write.get(), environment);
  if (!pid) return tl::unexpected(cannot_execute(argv.front(), pid.error()));
  pipe->write.reset();
  std::string text;
  const MonotonicTime end = monotonic_now() + limit;
  if (read_all(pipe->read.get(), end, text) && reap(*pid, end)) return text;
  ::kill(*pid, SIGKILL);
  // One that hangs in a driver does not die of it and is abandoned.
  constexpr std::chrono::seconds kLastMoment{1};
  static_cast<void>(reap(*pid, monotonic_now() + kLastMoment));
  return tl::unexpected(too_late(argv.front(), limit));
}

RunningProgram::RunningProgram(EventLoop& loop, const std::vector<std::string>& argv,
                               std::chrono::milliseconds limit, const Environment* environment,
                               Done done)
    : name_(argv.front()), done_(std::move(done)), limit_(loop) {
  auto pipe = make_pipe();
  const auto pid =
      pipe ? start(argv, pipe->write.get(), environment) : tl::unexpected(pipe.error());
  if (!pid) {
    limit_.after(std::chrono::nanoseconds(0), [this, error = pid.error()] {
      finish(tl::unexpected(cannot_execute(name_, error)));
    });
    return;
  }
  process_ = UniqueFd(open_pidfd(*pid));
  output_ = std::make_unique<WatchedFd>(loop, std::move(pipe->read));
  limit_.after(limit, [this, limit] { finish(tl::unexpected(too_late(name_, limit))); });
  wait();
}

RunningProgram::~RunningProgram() {
  if (process_) (void)signal_process(process_.get(), SIGKILL);
}

void RunningProgram::wait() {
  output_->on_readable([this] { read(); });
}

void RunningProgram::read() {
  char buffer[4096];
  const ssize_t got = ::read(output_->get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return wait();
  if (got <= 0) {
    process_.reset();  // it may continue
    return finish(std::move(text_));
  }
  text_.append(buffer, std::min(static_cast<std::size_t>(got), kMostBytes - text_.size()));
  wait();
}

void RunningProgram::finish(Result<std::string> result) {
  limit_.cancel();
  if (process_) (void)signal_process(process_.get(), SIGKILL);
  process_.reset();
  output_.reset();
  const Done done = std::exchange(done_, nullptr);  // which may destroy this
  done(std::move(result));
}

}  // namespace dlaunch
