#include "os/spawn.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clone_child.h"
#include "os/files.h"

namespace dlaunch {

namespace {

// Shared with the child, which runs in our memory until it executes (CLONE_VM | CLONE_VFORK), so
// its errno comes back without a pipe.
struct ChildContext {
  const SpawnRequest* request = nullptr;
  pid_t parent = 0;
  StartFailure::Step failed_step = StartFailure::Step::execute;
  const char* failed_on = nullptr;
  int error_number = 0;
  pid_t outer_pid = 0;
  bool has_begun = false;
};

constexpr std::size_t kChildStack = 64 * 1024;

DLAUNCH_ON_OWN_STACK int give_up(ChildContext& context, StartFailure::Step step, const char* path) {
  context.failed_step = step;
  context.failed_on = path;
  context.error_number = errno;
  _exit(exit_code::kNotFound);
}

void try_to_execute(ChildContext& context) {
  // As execvp(3): the search continues after a candidate that may not be executed.
  const SpawnRequest& request = *context.request;
  int denied = 0;
  for (const std::string& path : request.program->candidates) {
    ::execve(path.c_str(), const_cast<char* const*>(request.argv),
             const_cast<char* const*>(request.envp));
    context.failed_on = path.c_str();
    if (errno == EACCES) denied = EACCES;
    if (errno != EACCES && errno != ENOENT && errno != ENOTDIR) break;
  }
  if (denied != 0 && (errno == ENOENT || errno == ENOTDIR)) errno = denied;
}

/// Our pid as another /proc shows it: the target of its link "self" (proc(5)).
pid_t number_in(int proc) {
  char text[16];
  const ssize_t size = ::readlinkat(proc, "self", text, sizeof text);
  pid_t number = 0;
  for (ssize_t i = 0; i < size && text[i] >= '0' && text[i] <= '9'; ++i)
    number = number * 10 + (text[i] - '0');
  return number;
}

/// Clears FD_CLOEXEC even if both numbers are equal, in which case dup2(2) does nothing.
bool hand_over(int fd, int number) {
  return fd == number ? ::fcntl(fd, F_SETFD, 0) == 0 : ::dup2(fd, number) >= 0;
}

DLAUNCH_ON_OWN_STACK int run_child(void* argument) {
  ChildContext& context = *static_cast<ChildContext*>(argument);
  const SpawnRequest& request = *context.request;
  using Step = StartFailure::Step;
  context.has_begun = true;
  if (!request.new_session || ::setsid() < 0) ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != context.parent)
    _exit(exit_code::kInternal);  // the parent died before the line above
  // With kernel.yama.ptrace_scope=1 a process may trace only its descendants, and a helper of the
  // tracer is not an ancestor of the new process. A relation declared here includes the tracer's
  // descendants and survives execve(2) (security/yama/yama_lsm.c). Without Yama: EINVAL.
  ::prctl(PR_SET_PTRACER, request.tracer > 0 ? request.tracer : context.parent);
  if (request.outer_proc >= 0) context.outer_pid = number_in(request.outer_proc);
  if (::dup2(request.stdin_fd, 0) < 0 || ::dup2(request.stdout_fd, 1) < 0 ||
      ::dup2(request.stderr_fd, 2) < 0) {
    return give_up(context, Step::resources, "dup2");
  }
  if (request.own_terminal && ::ioctl(0, TIOCSCTTY, 0) != 0)
    return give_up(context, Step::resources, "TIOCSCTTY");
  if (request.extra_fd >= 0 && !hand_over(request.extra_fd, request.extra_fd_number))
    return give_up(context, Step::resources, "dup2");
  // A core may have gone offline since the plan was made: running unbound is better than not
  // running.
  if (request.cpus != nullptr) ::sched_setaffinity(0, request.cpus_size, request.cpus);
  if (request.open_files != nullptr) ::setrlimit(RLIMIT_NOFILE, request.open_files);
  if (::chdir(request.workdir) != 0) return give_up(context, Step::workdir, request.workdir);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  try_to_execute(context);
  return give_up(context, Step::execute, context.failed_on);
}

bool is_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

StartFailure failure_of(const ChildContext& context) {
  StartFailure failure;
  failure.step = context.failed_step;
  failure.error_number = context.error_number;
  failure.path = context.failed_on != nullptr ? context.failed_on : "";
  const bool execute = failure.step == StartFailure::Step::execute;
  if (execute) {
    // The file exists, yet "No such file": its first line names a program that does not exist.
    if (failure.error_number == ENOENT && is_file(failure.path))
      failure.step = StartFailure::Step::interpreter;
    // execve(2) fails with EACCES for what is not a regular file.
    if (failure.error_number == EACCES && is_folder(failure.path)) failure.error_number = EISDIR;
    failure.search_path = context.request->program->search_path;
  }
  return failure;
}

std::string absolute(std::string_view path, const std::string& workdir) {
  while (path.starts_with("./"))
    path.remove_prefix(std::min(path.find_first_not_of('/', 1), path.size()));
  return path.starts_with('/') ? std::string(path) : std::string(workdir).append("/").append(path);
}

void reap(pid_t pid) {
  int ignored = 0;
  while (::waitpid(pid, &ignored, 0) < 0 && errno == EINTR) {
  }
}

/// Whether clone3(2) with CLONE_INTO_CGROUP will never succeed here. EAGAIN is temporary: a limit
/// of processes, perhaps the cgroup's.
bool refuses_for_good(int error_number) {
  return error_number == EOPNOTSUPP || error_number == ENOSYS || error_number == EACCES ||
         error_number == EBUSY || error_number == ENODEV || error_number == EINVAL ||
         error_number == E2BIG || error_number == EPERM;
}

}  // namespace

Program find_program(const std::string& name, const std::string& search_path,
                     const std::string& workdir) {
  Program program{{}, name, ""};
  if (name.find('/') != std::string::npos) {
    program.candidates.push_back(absolute(name, workdir));
    return program;
  }
  program.search_path = search_path;
  for (std::size_t start = 0; start <= search_path.size();) {
    std::size_t end = search_path.find(':', start);
    if (end == std::string::npos) end = search_path.size();
    // An empty entry means the current folder (POSIX XBD 8.3).
    const std::string folder = end == start ? "." : search_path.substr(start, end - start);
    std::string path = absolute(folder + '/' + name, workdir);
    const bool found = !name.empty() && is_file(path);
    const bool executable = found && ::access(path.c_str(), X_OK) == 0;
    if (found) program.candidates.push_back(std::move(path));
    if (executable) break;  // execvp(3) would not go on
    start = end + 1;
  }
  return program;
}

std::string executable_of(const Program& program) {
  // The search ends at an executable candidate, so only the last one can be executable.
  if (program.candidates.empty()) return {};
  const std::string& last = program.candidates.back();
  return ::access(last.c_str(), X_OK) == 0 ? last : std::string();
}

std::vector<std::string> environment_entries(const Environment& environment) {
  std::vector<std::string> entries;
  entries.reserve(environment.size());
  for (const auto& [name, value] : environment) entries.push_back(name + '=' + value);
  return entries;
}

std::vector<const char*> argv_pointers(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(word.c_str());
  pointers.push_back(nullptr);
  return pointers;
}

tl::expected<Spawned, StartFailure> spawn(const SpawnRequest& request) {
  const Program& program = *request.program;
  if (program.candidates.empty()) {
    return tl::unexpected(
        StartFailure{StartFailure::Step::execute, ENOENT, program.name, program.search_path});
  }
  alignas(16) static char stack[kChildStack];  // one child at a time: vfork holds the caller
  ChildContext context;
  context.request = &request;
  context.parent = ::getpid();
  bool in_cgroup = request.cgroup >= 0;
  pid_t pid = clone_child(run_child, &context, stack, kChildStack, request.cgroup);
  bool unusable = pid < 0 && in_cgroup && refuses_for_good(errno);
  if (pid > 0 && in_cgroup && !context.has_begun) {
    // The kernel killed it, as it does with every process that we start there once a process was
    // killed in our own cgroup (os/enclosure.h).
    unusable = true;
    reap(std::exchange(pid, -1));
  }
  if (pid < 0 && in_cgroup) {  // an old kernel, a sandbox, a cgroup that takes no processes
    in_cgroup = false;
    pid = clone_child(run_child, &context, stack, kChildStack, -1);
  }
  if (pid < 0) {
    return tl::unexpected(StartFailure{StartFailure::Step::resources, errno, "clone", ""});
  }
  if (context.error_number == 0)
    return Spawned{pid, context.outer_pid > 0 ? context.outer_pid : pid, in_cgroup, unusable};
  reap(pid);
  return tl::unexpected(failure_of(context));
}

}  // namespace dlaunch
