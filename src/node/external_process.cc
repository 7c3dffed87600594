#include "node/external_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "node/ranks/environment_block.h"

namespace dlaunch {

namespace {

constexpr int kReadsPerTurn = 16;

tl::unexpected<StartFailure> lacks(const char* what, int error) {
  return tl::unexpected(StartFailure{StartFailure::Step::resources, error, what, ""});
}

}  // namespace

tl::expected<std::unique_ptr<ExternalProcess>, StartFailure> ExternalProcess::start(
    EventLoop& loop, const Request& request, Printed printed, Closed closed) {
  auto pipe = make_pipe();
  if (!pipe) return lacks("pipe", pipe.error());
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) return lacks("/dev/null", errno);
  const std::string search_path =
      find_variable(request.environment, "PATH").value_or(kDefaultSearchPath);
  const std::string& name = request.program.empty() ? request.argv.front() : request.program;
  const Program program = find_program(name, search_path, request.workdir);
  const std::vector<std::string> entries = environment_entries(request.environment);
  const auto argv = argv_pointers(request.argv);
  const auto envp = argv_pointers(entries);
  SpawnRequest spawning;
  spawning.program = &program;
  spawning.argv = argv.data();
  spawning.envp = envp.data();
  spawning.workdir = request.workdir.c_str();
  spawning.stdin_fd = null.get();
  spawning.stdout_fd = pipe->write.get();
  spawning.stderr_fd = pipe->write.get();
  spawning.cgroup = request.cgroup;
  spawning.open_files = &request.open_files;
  spawning.new_session = true;
  const auto spawned = spawn(spawning);
  if (!spawned) return tl::unexpected(spawned.error());
  return std::unique_ptr<ExternalProcess>(
      new ExternalProcess(loop, std::move(pipe->read), spawned->pid, request.most_printed,
                          std::move(printed), std::move(closed)));
}

ExternalProcess::ExternalProcess(EventLoop& loop, UniqueFd output, pid_t pid,
                                 std::size_t most_printed, Printed printed, Closed closed)
    : output_(loop, std::move(output)),
      pid_(pid),
      printed_(std::move(printed)),
      closed_(std::move(closed)),
      may_pass_on_(most_printed) {
  wait();
}

void ExternalProcess::wait() {
  output_.on_readable([this] {
    if (read_some()) return wait();
    if (closed_) closed_();
  });
}

void ExternalProcess::terminate() {
  if (std::exchange(told_to_end_, true)) return;
  ::kill(pid_, SIGTERM);
  ::kill(pid_, SIGCONT);  // a stopped process handles no other signal
}

void ExternalProcess::read_rest() {
  if (output_.get() >= 0) (void)read_some();
}

/// Reads what is there, within limits, because endless output must not keep the agent from its
/// heartbeats. False: end of file.
bool ExternalProcess::read_some() {
  char bytes[16384];
  for (int i = 0; i < kReadsPerTurn; ++i) {
    const ssize_t n = ::read(output_.get(), bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) return false;
    const std::size_t taken = std::min(static_cast<std::size_t>(n), may_pass_on_);
    may_pass_on_ -= taken;
    std::replace(bytes, bytes + taken, '\0', '?');
    if (taken > 0) printed_(std::string(bytes, taken));
  }
  return true;
}

}  // namespace dlaunch
