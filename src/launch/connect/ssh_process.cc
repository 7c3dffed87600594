#include "launch/connect/ssh_process.h"

#include <cerrno>
#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include "os/containment.h"
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
  if (failure.step == StartFailure::Step::execute && failure.error_number == ENOENT) {
    return {exit_code::kNodeLost,
            "there is no program \"" + program + "\" on this machine; install it, or correct PATH"};
  }
  return {exit_code::kNodeLost,
          "cannot start " + program + ": " + errno_text(failure.error_number)};
}

Error no_descriptors(int error_number) {
  return {exit_code::kNodeLost, "cannot make a pipe: " + errno_text(error_number) +
                                    (error_number == EMFILE ? " (ulimit -n)" : "")};
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

Result<std::shared_ptr<SshProcess>> SshProcess::start(EventLoop& loop,
                                                      const std::vector<std::string>& argv,
                                                      const std::vector<std::string>& environment) {
  const std::string folder = current_folder();
  const Program program = find_program(argv.front(), search_path(environment), folder);
  auto in = make_pipe();
  auto out = make_pipe();
  auto errors = make_pipe();
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
  request.stderr_fd = errors->write.get();
  // A busy kernel shares its CPUs between sessions (sched(7), autogroup): in the engine's session,
  // 64 key exchanges together would get the share of one.
  request.new_session = true;
  const BlockedSignals blocked;
  const auto spawned = spawn(request);
  if (!spawned) return tl::unexpected(not_started(argv.front(), spawned.error()));
  return std::shared_ptr<SshProcess>(new SshProcess(loop, spawned->pid, std::move(in->write),
                                                    std::move(out->read), std::move(errors->read)));
}

SshProcess::SshProcess(EventLoop& loop, pid_t pid, UniqueFd in, UniqueFd out, UniqueFd errors)
    : loop_(loop),
      pid_(pid),
      stdin_(std::move(in)),
      stdout_(std::move(out)),
      errors_(loop, std::move(errors)),
      ended_(loop, UniqueFd(open_pidfd(pid))),
      poll_(loop) {
  watch_errors();
}

SshProcess::~SshProcess() {
  if (pid_ <= 0) return;
  end(true);
  // Reaped here: it ends a moment later, and nothing else would wait for it before the run ends.
  const auto left = std::make_shared<WatchedFd>(loop_, UniqueFd(open_pidfd(pid_)));
  left->on_readable([left, pid = pid_] {
    int ignored = 0;
    (void)::waitpid(pid, &ignored, WNOHANG);
  });
}

void SshProcess::watch_errors() {
  errors_.on_readable([this] {
    if (read_errors()) watch_errors();
  });
}

bool SshProcess::read_errors() {
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

const std::string& SshProcess::errors() {
  (void)read_errors();
  return tail_;
}

void SshProcess::on_end(std::function<void(int)> callback) {
  on_end_ = std::move(callback);
  if (ended_.get() >= 0) {
    ended_.on_readable([this] { look_for_end(); });
  } else {
    poll_.after(kPollStep, [this] { look_for_end(); });
  }
}

void SshProcess::look_for_end() {
  int status = 0;
  if (pid_ <= 0) return;
  if (::waitpid(pid_, &status, WNOHANG) != pid_)
    return poll_.after(kPollStep, [this] { look_for_end(); });
  pid_ = 0;
  const auto self = shared_from_this();  // the callback may release us
  if (const auto callback = std::exchange(on_end_, nullptr)) callback(status);
}

void SshProcess::end(bool hard) {
  if (pid_ > 0) ::kill(-pid_, hard ? SIGKILL : SIGTERM);
}

void SshProcess::release() {
  pid_ = 0;
  on_end_ = nullptr;
  ended_.close();
  poll_.cancel();
}

}  // namespace dlaunch
