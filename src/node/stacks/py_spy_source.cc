#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/stacks/py_spy_output.h"
#include "node/stacks/stack_source.h"
#include "os/clock.h"
#include "os/memory_broker.h"
#include "os/proc_file.h"
#include "os/spawn.h"
#include "os/unique_fd.h"
#include "os/write_all.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostOutput = std::size_t{4} << 20;
constexpr std::size_t kAtOnce = 16;  // more would wait for each other
constexpr std::chrono::milliseconds kLeast{50};
constexpr std::string_view kNoReader =
    "kernel.yama.ptrace_scope=1 permits only the agent to do so, and it cannot for py-spy: earlier "
    "reads still wait in the kernel, a limit on threads or open files is reached, or a container "
    "runtime has a seccomp listener";
static_assert(kNoReader.size() <= kMostStackText);

std::string variable_of(pid_t pid, const std::string& name) {
  const std::string all =
      '\0' + read_proc_file("/proc/" + std::to_string(pid) + "/environ", std::size_t{1} << 20);
  const std::string begin = '\0' + name + '=';
  const std::size_t at = all.find(begin);
  if (at == std::string::npos) return "";
  const std::size_t value = at + begin.size();
  return all.substr(value, all.find('\0', value) - value);
}

std::string folder_in(const std::string& path) {
  return path.substr(0, path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
}

/// Looks beside dlaunch, in the rank's environment, in the asker's PATH, and in the agent's.
std::string find_py_spy(pid_t rank, const std::string& askers_path) {
  std::string path = folder_in(link_target("/proc/self/exe"));
  const auto add = [&path](const std::string& more) {
    if (!more.empty()) path += ':' + more;
  };
  const std::string virtual_environment = variable_of(rank, "VIRTUAL_ENV");
  if (!virtual_environment.empty()) add(virtual_environment + "/bin");
  add(folder_in(link_target("/proc/" + std::to_string(rank) + "/exe")));
  add(variable_of(rank, "PATH"));
  add(askers_path);
  if (const char* own = ::getenv("PATH")) add(own);
  return executable_of(find_program("py-spy", path, "/"));
}

/// With `isolation: pid-namespace` an ordinary user's agent may trace every process in its user
/// namespace, even under Yama. execve(2) would remove this right.
void keep_right_to_trace() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
  if (::syscall(SYS_capget, &header, sets) != 0) return;
  sets[0].inheritable |= sets[0].permitted & (1U << CAP_SYS_PTRACE);
  if (::syscall(SYS_capset, &header, sets) != 0) return;
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_PTRACE, 0, 0);
}

/// Only the agent may read this process, and the program would not get the right to.
bool needs_reader(const std::string& program, pid_t pid) {
  return only_ancestors_may_read() && !gains_privileges(program) && is_memory_refused(pid);
}

ThreadNumbers numbers_inside(const ProcessStack& process) {
  ThreadNumbers numbers;
  for (const ThreadStack& thread : process.threads) {
    const int own = number_in_own_namespace(read_proc_file(
        "/proc/" + std::to_string(process.pid) + "/task/" + std::to_string(thread.id) + "/status",
        4096));
    if (own != 0) numbers[own] = thread.id;
  }
  return numbers;
}

/// A running py-spy. The destructor kills it.
class PySpy {
 public:
  /// `broker`: what reads for it if it may not read; -1: nothing.
  PySpy(const std::string& program, ProcessStack& process, RankStacks& rank, int broker)
      : process_(&process), rank_(&rank) {
    auto pipe = make_pipe();
    if (!pipe) return;
    const std::string target = std::to_string(process.pid);
    // In this mode py-spy stops no process, and ends by itself when the process has ended.
    const std::vector<std::string> words = {program,         "dump",  "--json",
                                            "--nonblocking", "--pid", target};
    const std::vector<const char*> argv = argv_pointers(words);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      sigset_t none;
      ::sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
      ::dup2(null, STDIN_FILENO);
      ::dup2(pipe->write.get(), STDOUT_FILENO);
      ::dup2(pipe->write.get(), STDERR_FILENO);
      keep_right_to_trace();
      if (needs_reader(program, process.pid) &&
          (broker < 0 || !ask_for_reads(broker, process.pid))) {
        (void)write_all(STDOUT_FILENO, kNoReader);
        ::_exit(1);
      }
      ::execv(argv.front(), const_cast<char* const*>(argv.data()));
      ::_exit(127);
    }
    if (pid_ > 0) output_ = std::move(pipe->read);
  }
  ~PySpy() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, WNOHANG);
  }
  PySpy(const PySpy&) = delete;
  PySpy& operator=(const PySpy&) = delete;

  [[nodiscard]] int output() const { return output_.get(); }
  [[nodiscard]] bool is_done() const { return !output_; }

  void read_some() {
    char buffer[65536];
    const ssize_t n = ::read(output_.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) return;
    if (n > 0 && text_.size() < kMostOutput)
      return void(text_.append(buffer, static_cast<std::size_t>(n)));
    output_.reset();
  }

  void conclude() {
    if (!is_done()) return say("py-spy took too long for pid " + std::to_string(process_->pid));
    if (add_py_spy_output(text_, *process_, numbers_inside(*process_))) return;
    // "Error: Permission Denied: Try running again with elevated permissions by going ..."
    std::string why = text_.substr(0, text_.find('\n'));
    if (why.empty()) why = "it printed nothing";
    say("py-spy cannot read pid " + std::to_string(process_->pid) + ": " +
        why.substr(0, kMostStackText));
  }

 private:
  void say(std::string remark) { rank_->remarks.push_back(std::move(remark)); }

  ProcessStack* process_;
  RankStacks* rank_;
  pid_t pid_ = -1;
  UniqueFd output_;
  std::string text_;
};

/// Reads until all are done or the time is over.
void read_all(std::vector<std::unique_ptr<PySpy>>& running, MonotonicTime end) {
  while (true) {
    std::vector<pollfd> ready;
    std::vector<PySpy*> whose;
    for (const auto& one : running) {
      if (one->is_done()) continue;
      ready.push_back({one->output(), POLLIN, 0});
      whose.push_back(one.get());
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - monotonic_now());
    if (ready.empty() || left.count() <= 0) return;
    if (::poll(ready.data(), ready.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
      return;
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (ready[i].revents != 0) whose[i]->read_some();
    }
  }
}

}  // namespace

bool is_python(pid_t pid) {
  const std::string program = link_target("/proc/" + std::to_string(pid) + "/exe");
  if (program.substr(program.rfind('/') + 1).starts_with("python")) return true;
  const std::string maps = read_proc_file("/proc/" + std::to_string(pid) + "/maps");
  return maps.find("/libpython") != std::string::npos;
}

void add_python_stacks(const StackRequest& request, std::vector<RankStacks>& ranks) {
  struct Target {
    std::string program;
    ProcessStack* process;
    RankStacks* rank;
  };
  std::vector<Target> targets;
  for (RankStacks& rank : ranks) {
    std::optional<std::string> program;  // searched for only if there is a process for it
    for (ProcessStack& process : rank.processes) {
      const bool has_ended = !process.threads.empty() && process.threads.front().state == "Z";
      if (has_ended || !is_python(process.pid)) continue;
      if (!program) program = find_py_spy(process.pid, request.path);
      if (program->empty()) program = request.brought;
      if (!program->empty()) targets.push_back({*program, &process, &rank});
    }
    rank.lacks_py_spy = program && program->empty();
  }
  for (std::size_t begin = 0; begin < targets.size(); begin += kAtOnce) {
    const std::size_t end = std::min(begin + kAtOnce, targets.size());
    std::vector<std::unique_ptr<PySpy>> running;
    for (std::size_t i = begin; i < end; ++i) {
      const Target& one = targets[i];
      running.push_back(
          std::make_unique<PySpy>(one.program, *one.process, *one.rank, request.broker));
    }
    read_all(running, request.end - kLeast);
    for (const auto& one : running) one->conclude();
  }
}

}  // namespace dlaunch
