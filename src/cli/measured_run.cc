#include "cli/measured_run.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/hosts.h"
#include "cli/print.h"
#include "launch/engine/engine_main.h"
#include "launch/front/front.h"
#include "launch/front/terminal_prompt.h"
#include "os/containment.h"
#include "os/signals.h"

extern char** environ;

namespace dlaunch {

namespace {

// A line of more is nothing that a rank of ours writes.
constexpr std::size_t kLongestLine = std::size_t{64} << 20U;

std::vector<int> signals_to_pass() {
  std::vector<int> signals{SIGTERM};
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2}) {
    if (!is_ignored(signal)) signals.push_back(signal);
  }
  return signals;
}

Result<std::string> make_folder() {
  const char* base = std::getenv("TMPDIR");
  std::string path =
      std::string(base != nullptr && *base == '/' ? base : "/tmp") + "/dlaunch-measure-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr)
    return fail_errno(exit_code::kInternal, "a folder for this run: " + path, errno);
  return path;
}

/// Removed at its end unless it is kept.
class RunFolder {
 public:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder() {
    std::error_code ignored;  // a file that somebody else has put there
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  std::string keep() { return std::exchange(path_, {}); }

 private:
  std::string path_;
};

/// Whether a run below `folder` came as far as to ranks, which may have left something to read.
bool had_ranks(const std::string& folder) {
  std::error_code error;
  for (const auto& run : std::filesystem::directory_iterator(folder, error)) {
    if (std::filesystem::exists(run.path() / "plan.json", error)) return true;
  }
  return false;
}

/// Nobody looks for the files of a run that ended so: well, by a mistake that its message tells in
/// full, or because somebody has stopped it.
bool is_told_in_full(int code, const std::string& folder) {
  switch (code) {
    case exit_code::kOk:
    case exit_code::kSignalBase + SIGINT:
    case exit_code::kSignalBase + SIGTERM:
      return true;
    case exit_code::kUsage:
    case exit_code::kJobFile:
    case exit_code::kPreflight:
      return !had_ranks(folder);
    default:
      return false;
  }
}

/// The parent's side.
class Reader {
 public:
  Reader(pid_t child, UniqueFd output, UniqueFd signals,
         const std::function<Status(const std::string&)>& on_line)
      : child_(child),
        child_end_(open_pidfd(child)),
        output_(std::move(output)),
        signals_(std::move(signals)),
        on_line_(on_line) {}

  /// The run's exit code.
  Result<int> run() {
    bool ended = false;
    while (!ended || output_) {
      std::array<pollfd, 3> watched{{{ended ? -1 : child_end_.get(), POLLIN, 0},
                                     {signals_.get(), POLLIN, 0},
                                     {output_.get(), POLLIN, 0}}};
      // What others may still hold of the pipe when the run is over is nobody's any more.
      const int ready = ::poll(watched.data(), watched.size(), ended ? 0 : -1);
      if (ready < 0) continue;  // EINTR
      if (watched[1].revents != 0) pass_signals();
      if (watched[2].revents != 0) read_output();
      if (ended && watched[2].revents == 0) break;
      if (watched[0].revents != 0) ended = true;
      if (!child_end_ && !output_)
        ended = true;  // no pidfds here: its output's end is all there is
    }
    const int code = reap();
    if (failure_) return tl::unexpected(*failure_);
    return code;
  }

 private:
  void pass_signals() {
    signalfd_siginfo signal{};
    while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
      // The terminal's go to the whole group, and so to the front, by themselves.
      if (signal.ssi_code != SI_KERNEL) ::kill(child_, static_cast<int>(signal.ssi_signo));
    }
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
    if (unread_.size() > kLongestLine) give_up({exit_code::kInternal, "a line does not end"});
  }

  void take(const std::string& line) {
    if (failure_) return;
    if (const Status taken = on_line_(line); !taken) give_up(taken.error());
  }

  void give_up(const Error& error) {
    failure_ = error;
    unread_.clear();
    ::kill(child_, SIGTERM);
  }

  int reap() {
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : exit_code::kSignalBase + WTERMSIG(status);
  }

  pid_t child_;
  UniqueFd child_end_;
  UniqueFd output_;
  UniqueFd signals_;
  const std::function<Status(const std::string&)>& on_line_;
  std::string unread_;
  std::optional<Error> failure_;
};

[[noreturn]] void run_child(const RunOptions& options, pid_t parent, const UniqueFd& output,
                            const sigset_t& mask) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody reads any more
  if (::getppid() != parent) ::_exit(exit_code::kInternal);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::dup2(output.get(), STDOUT_FILENO);
  ::_exit(run_front([&](UniqueFd link) { return engine_main(options, std::move(link)); }, {}));
}

}  // namespace

Result<ReadRun> read_run(RunOptions options, bool keep,
                         const std::function<Status(const std::string&)>& on_line) {
  auto made = make_folder();
  if (!made) return tl::unexpected(made.error());
  RunFolder folder(std::move(*made));
  options.spec.logs.dir = folder.path();
  ensure_standard_descriptors();
  std::signal(SIGCHLD, SIG_DFL);  // inherited as ignored, exit codes would be lost (wait(2))
  auto output = make_pipe();
  if (!output) return fail_errno(exit_code::kInternal, "pipe", output.error());
  sigset_t before;
  ::sigprocmask(SIG_SETMASK, nullptr, &before);
  const std::vector<int> passed = signals_to_pass();
  block_signals(passed);
  auto signals = open_signal_fd(passed);
  if (!signals) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return tl::unexpected(signals.error());
  }
  const pid_t own = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    const int error = errno;
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return fail_errno(exit_code::kInternal, "cannot fork", error);
  }
  if (child == 0) {
    output->read.reset();
    signals->reset();
    run_child(options, own, output->write, before);
  }
  output->write.reset();
  const auto code = Reader(child, std::move(output->read), std::move(*signals), on_line).run();
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (!code)
    return fail(code.error().exit_code, code.error().message + "\n  the run: " + folder.keep());
  if (keep || !is_told_in_full(*code, folder.path())) return ReadRun{*code, folder.keep()};
  return ReadRun{*code, {}};
}

Result<ReadRun> measured_run(MeasuredJob job,
                             const std::function<Status(const measure::Record&)>& on_record) {
  const auto current = current_folder();
  if (!current) return tl::unexpected(current.error());
  job.hosts.arguments = {"dlaunch-collectives"};  // `prepare` has the whole of it
  auto loaded = load_job(job.hosts, *current);
  if (!loaded) return tl::unexpected(loaded.error());
  if (const Status hosts = resolve_job_hosts(job.hosts, false, *loaded); !hosts)
    return tl::unexpected(hosts.error());
  RunOptions options;
  options.spec = std::move(loaded->spec);
  options.spec.name = job.name;
  options.spec.framework = Framework::mpi;
  options.spec.mpi.oversubscribe = true;
  options.spec.workdir = "/";
  options.spec.logs.console = Logs::Console::rank0;
  options.spec.logs.prefix = Logs::Prefix::never;
  options.job_text = std::move(loaded->text);
  options.current_folder = *current;
  options.environment = environment_from_block(environ);
  options.slurm_end = loaded->slurm_end;
  options.quiet = true;
  options.verbosity = job.verbosity;
  options.may_ask = can_ask_on_terminal();
  options.prepare = std::move(job.prepare);
  return read_run(std::move(options), job.keep, [&](const std::string& line) -> Status {
    const auto record = measure::read_record(line);
    if (!record) return tl::unexpected(record.error());
    return on_record(*record);
  });
}

}  // namespace dlaunch
