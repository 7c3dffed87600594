#include "agent/guardian.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <string_view>

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/containers/container_folder.h"
#include "agent/mpi/join_point.h"
#include "agent/mpi/pmix_folders.h"
#include "agent/progress.h"
#include "agent/session/session_place.h"
#include "model/signal_names.h"
#include "os/cgroup.h"
#include "os/containment.h"
#include "os/descriptors.h"
#include "os/machine_identity.h"
#include "os/pid_namespace.h"
#include "os/proc_file.h"
#include "os/signals.h"

namespace dlaunch {

namespace {

// Killing what is left after an agent's death takes milliseconds; a process in an uninterruptible
// system call may take longer, and nothing can be done about it but not to wait for ever.
constexpr std::chrono::seconds kCleanupLimit{30};

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? exit_code::kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

/// State of a process as proc(5) names it in /proc/<pid>/stat; 0 when it is gone.
char state_of(pid_t pid) {
  const std::string stat = read_proc_file("/proc/" + std::to_string(pid) + "/stat");
  const std::string_view state = stat_field(stat, 3);
  return state.empty() ? '\0' : state.front();
}

std::string program_of(pid_t pid) {
  char path[4096];
  const ssize_t size =
      ::readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

/// A rank that somebody stops between fork and exec holds its agent in vfork(2) until it goes on.
void wake_ranks_without_program(pid_t agent) {
  for (const pid_t child : children_of(agent)) {
    if (state_of(child) == 'T' && program_of(child) == program_of(agent)) ::kill(child, SIGCONT);
  }
}

/// In an uninterruptible system call, as on a network file system that does not answer (proc(5),
/// state D): it shows no progress then and is none the less alive.
bool waits_for_disk(pid_t pid) {
  return state_of(pid) == 'D';
}

/// True when the agent has ended, false when it has shown no progress for the fencing time.
bool watch(pid_t agent, const UniqueFd& agent_pidfd, const UniqueFd& signals,
           const Progress& progress, int& status) {
  std::uint64_t last_beat = 0;
  std::uint32_t silent_ms = 0;
  while (true) {
    const int tick = static_cast<int>(progress.heartbeat_ms.load());
    pollfd watched[] = {{agent_pidfd.get(), POLLIN, 0}, {signals.get(), POLLIN, 0}};
    (void)::poll(watched, 2, tick);
    if (watched[0].revents != 0 && ::waitpid(agent, &status, 0) == agent) return true;
    if (watched[1].revents != 0) {
      // A scheduler mostly signals the leader of a step only, which is the guardian.
      while (const int number = read_signal(signals.get())) ::kill(agent, number);
      continue;
    }
    // Ticks are counted, not time: a guardian that was itself stopped for a while starts no alarm.
    const std::uint64_t beat = progress.beats.load();
    silent_ms = beat == last_beat ? silent_ms + static_cast<std::uint32_t>(tick) : 0;
    last_beat = beat;
    if (silent_ms > 0 && waits_for_disk(agent)) {
      wake_ranks_without_program(agent);
      silent_ms = 0;
    }
    if (silent_ms >= progress.fence_after_ms.load() + 2 * static_cast<std::uint32_t>(tick))
      return false;
  }
}

/// What guardian and agent each do for themselves, so that they can do it at the same time.
void settle_in(const AgentOptions& options, int own_pidfd) {
  ::setsid();
  wake_when_parent_dies();
  take_all_signals();
  close_all_but({options.read.get(), options.write.get(), own_pidfd});
  redirect_to_null({STDIN_FILENO, STDOUT_FILENO});
  become_subreaper();
}

/// The rest of what makes an agent's surroundings, in the agent.
AgentPlace take_place(const Status& opened) {
  AgentPlace place;
  // The guardian's end is ours, without a chance to do anything about it: that is what the kernel
  // can guarantee. The poll of its pidfd finds an end that was earlier.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Result<UniqueFd> outer = opened ? enter_pid_namespace() : tl::unexpected(opened.error());
  if (outer) {
    place.outer_proc = std::move(*outer);
  } else {
    place.refused = outer.error().message;
  }
  return place;
}

int run_guardian(pid_t agent, bool passes_signals, const Progress& progress, SessionId id) {
  const UniqueFd agent_pidfd(open_pidfd(agent));
  UniqueFd signals;
  if (passes_signals) {
    if (auto opened = open_signal_fd(signals_of_schedulers())) signals = std::move(*opened);
  }
  int status = 0;
  const bool ended = watch(agent, agent_pidfd, signals, progress, status);
  kill_descendants(kCleanupLimit);
  // An agent that was killed could not remove its cgroup.
  if (!ended || status != 0) sweep_abandoned_cgroups();
  if (!ended || status != 0) remove_pmix_folders(id);
  if (progress.entry_folder.front() != '\0') clear_entry_folder(progress.entry_folder.data());
  if (progress.join_folder.front() != '\0') remove_join_folder(progress.join_folder.data());
  const int code = ended ? exit_code_of(status) : kAgentStopped;
  // Only now: who finds the word relies on it that nothing runs here any more.
  if (code != 0) leave_last_word(session_folders(), id, how_agent_ended(code));
  return code;
}

}  // namespace

Progress* map_progress() {
  void* page =
      ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : new (page) Progress;
}

std::vector<int> signals_of_schedulers() {
  return {SIGTERM, SIGUSR1, SIGUSR2, SIGINT, SIGXCPU};
}

std::string how_agent_ended(int code) {
  if (code == kAgentStopped) return "its agent was stopped and did not go on";
  if (code == kAgentFenced)
    return "its agent heard nothing of the launcher for timeouts.fence_after and ended everything";
  if (code > exit_code::kSignalBase)
    return "its agent was killed by " + signal_name(code - exit_code::kSignalBase);
  return "its agent ended with code " + std::to_string(code);
}

int guardian_main(AgentOptions options) {
  // The fork comes as early as it can: the agent's start is what a run waits for.
  Progress* progress = map_progress();
  const UniqueFd own_pidfd(open_pidfd(::getpid()));
  if (!own_pidfd) {
    std::fprintf(stderr, "dlaunch: pidfd_open: %s (Linux 5.3 or newer is needed)\n",
                 errno_text(errno).c_str());
  }
  if (progress == nullptr || !own_pidfd) return exit_code::kInternal;
  become_subreaper();  // before there is anybody to lose
  const bool isolated = options.pid_namespace;
  if (isolated) options.machine = machine_identity();  // of the surroundings of all its agents
  const bool passes_signals = options.reports_signals;
  const Status opened = isolated ? open_pid_namespace() : Status();
  const pid_t agent = ::fork();
  if (agent < 0) return exit_code::kInternal;
  settle_in(options, own_pidfd.get());
  if (agent == 0) {
    agent_main(std::move(options), isolated ? take_place(opened) : AgentPlace(), own_pidfd,
               *progress);
  }
  options.read.reset();
  options.write.reset();
  // A rank that holds guardian and agent by ptrace(2) would outlive its job; a stopped guardian
  // goes on when its parent dies, and a held agent is killed by its guardian. The agent stays
  // dumpable, because the files in /proc of a process that is not belong to root (proc(5)), and
  // MPI's helper is executed from /proc/AGENT/fd.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return run_guardian(agent, passes_signals, *progress, {options.session, options.node});
}

}  // namespace dlaunch
