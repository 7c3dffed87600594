#include "os/child_process.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

#include "os/containment.h"
#include "os/descriptors.h"
#include "os/spawn.h"

namespace dlaunch {

namespace {

constexpr std::chrono::milliseconds kPollStep{20};

std::string search_path(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    if (entry.starts_with("PATH=")) return entry.substr(5);
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

Error not_started(const std::string& program, const StartFailure& failure) {
  const bool is_missing =
      failure.step == StartFailure::Step::execute && failure.error_number == ENOENT;
  if (is_missing)
    return {exit_code::kNotFound,
            "there is no program \"" + program + "\" on this machine; install it, or correct PATH"};
  const bool is_its_own = failure.step != StartFailure::Step::resources;
  return {is_its_own ? exit_code::kCannotExecute : exit_code::kInternal,
          "cannot execute \"" + program + "\": " + errno_text(failure.error_number)};
}

Error no_descriptors(int error_number) {
  return {exit_code::kInternal, "cannot make a pipe: " + errno_text(error_number) +
                                    (error_number == EMFILE ? " (raise ulimit -n)" : "")};
}

/// spawn() requires all signals to be blocked around it.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

std::string current_folder() {
  char path[4096];
  return ::getcwd(path, sizeof path) != nullptr ? path : "/";
}

}  // namespace

Result<std::shared_ptr<ChildProcess>> ChildProcess::start(
    EventLoop& loop, const std::vector<std::string>& argv,
    const std::vector<std::string>& environment, bool joined) {
  const std::string folder = current_folder();
  const Program program = find_program(argv.front(), search_path(environment), folder);
  auto in = make_pipe();
  auto out = make_pipe();
  auto errors = joined ? tl::expected<Pipe, int>(Pipe()) : make_pipe();
  for (const auto* pipe : {&in, &out, &errors}) {
    if (!*pipe) return tl::unexpected(no_descriptors(pipe->error()));
  }
  const std::vector<const char*> arguments = argv_pointers(argv);
  const std::vector<const char*> variables = argv_pointers(environment);
  SpawnRequest request;
  request.program = &program;
  request.argv = arguments.data();
  request.envp = variables.data();
  request.workdir = folder.c_str();
  request.stdin_fd = in->read.get();
  request.stdout_fd = out->write.get();
  request.stderr_fd = joined ? out->write.get() : errors->write.get();
  // A busy kernel shares its CPUs between sessions (sched(7), autogroup): in the engine's session,
  // 64 key exchanges together would get the share of one session.
  request.new_session = true;
  request.open_files = original_open_file_limit();
  const BlockedSignals blocked;
  const auto spawned = spawn(request);
  if (!spawned) return tl::unexpected(not_started(argv.front(), spawned.error()));
  return std::shared_ptr<ChildProcess>(new ChildProcess(
      loop, spawned->pid, std::move(in->write), std::move(out->read), std::move(errors->read)));
}

ChildProcess::ChildProcess(EventLoop& loop, pid_t pid, UniqueFd in, UniqueFd out, UniqueFd errors)
    : loop_(loop),
      pid_(pid),
      stdin_(std::move(in)),
      stdout_(std::move(out)),
      errors_(loop, std::move(errors)),
      ended_(loop, UniqueFd(open_pidfd(pid))),
      poll_(loop) {
  if (errors_.get() >= 0) watch_errors();
}

ChildProcess::~ChildProcess() {
  if (!is_ours()) return;
  end(true);
  // The child ends a moment later and must be reaped here: nothing else would do so before the run
  // ends.
  const auto left = std::make_shared<WatchedFd>(loop_, UniqueFd(open_pidfd(pid_)));
  left->on_readable([left, pid = pid_] {
    int ignored = 0;
    (void)::waitpid(pid, &ignored, WNOHANG);
  });
}

void ChildProcess::watch_errors() {
  errors_.on_readable([this] {
    if (read_errors()) watch_errors();
  });
}

bool ChildProcess::read_errors() {
  char bytes[4096];
  while (errors_.get() >= 0) {
    const ssize_t n = ::read(errors_.get(), bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) {
      errors_.close();
      return false;
    }
    tail_.append(bytes, static_cast<std::size_t>(n));
    if (tail_.size() > 2 * kMostErrors) tail_.erase(0, tail_.size() - kMostErrors);
  }
  return false;
}

const std::string& ChildProcess::errors() {
  (void)read_errors();
  return tail_;
}

void ChildProcess::on_end(Ended callback) {
  on_end_ = std::move(callback);
  if (ended_.get() >= 0) {
    ended_.on_readable([this] { look_for_end(); });
  } else {
    poll_.after(kPollStep, [this] { look_for_end(); });
  }
}

void ChildProcess::look_for_end() {
  int status = 0;
  if (pid_ <= 0) return;
  const pid_t reaped = ::waitpid(pid_, &status, WNOHANG);
  if (reaped == 0 || (reaped < 0 && errno != ECHILD))
    return poll_.after(kPollStep, [this] { look_for_end(); });
  pid_ = 0;
  const auto self = shared_from_this();  // the callback may release us
  if (const auto callback = std::exchange(on_end_, nullptr))
    callback(reaped > 0 ? std::optional(status) : std::nullopt);
}

/// Once another part of this process has reaped the child, its pid may be another process's.
bool ChildProcess::is_ours() const {
  siginfo_t info{};
  return pid_ > 0 &&
         ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void ChildProcess::end(bool hard) {
  if (is_ours()) ::kill(-pid_, hard ? SIGKILL : SIGTERM);
}

void ChildProcess::release() {
  pid_ = 0;
  on_end_ = nullptr;
  ended_.close();
  poll_.cancel();
}

}  // namespace dlaunch
