#include "agent/guardian.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/progress.h"
#include "os/containment.h"
#include "os/descriptors.h"
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

/// In an uninterruptible system call, as on a network file system that does not answer (proc(5),
/// state D): it shows no progress then and is none the less alive.
bool waits_for_disk(pid_t pid) {
  const std::string stat = read_proc_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && name_end + 2 < stat.size() && stat[name_end + 2] == 'D';
}

/// True when the agent has ended, false when it has shown no progress for the fencing time.
bool watch(pid_t agent, const UniqueFd& agent_pidfd, const Progress& progress, int& status) {
  std::uint64_t last_beat = 0;
  std::uint32_t silent_ms = 0;
  while (true) {
    const int tick = static_cast<int>(progress.heartbeat_ms.load());
    pollfd watched{agent_pidfd.get(), POLLIN, 0};
    const int ready = ::poll(&watched, 1, tick);
    if (ready > 0 && ::waitpid(agent, &status, 0) == agent) return true;
    // Ticks are counted, not time: a guardian that was itself stopped for a while starts no alarm.
    const std::uint64_t beat = progress.beats.load();
    silent_ms = beat == last_beat ? silent_ms + static_cast<std::uint32_t>(tick) : 0;
    last_beat = beat;
    if (silent_ms > 0 && waits_for_disk(agent)) silent_ms = 0;
    if (silent_ms >= progress.fence_after_ms.load() + 2 * static_cast<std::uint32_t>(tick))
      return false;
  }
}

/// What guardian and agent each do for themselves, so that they can do it at the same time.
void settle_in(const AgentOptions& options, int own_pidfd) {
  ::setsid();
  take_all_signals();
  close_all_but({options.read.get(), options.write.get(), own_pidfd});
  redirect_to_null({STDIN_FILENO, STDOUT_FILENO});
  become_subreaper();
}

int run_guardian(pid_t agent, const Progress& progress) {
  const UniqueFd agent_pidfd(open_pidfd(agent));
  int status = 0;
  const bool ended = watch(agent, agent_pidfd, progress, status);
  kill_descendants(kCleanupLimit);
  return ended ? exit_code_of(status) : kAgentStopped;
}

}  // namespace

Progress* map_progress() {
  void* page =
      ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : new (page) Progress;
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
  const pid_t agent = ::fork();
  if (agent < 0) return exit_code::kInternal;
  settle_in(options, own_pidfd.get());
  if (agent == 0) agent_main(std::move(options), own_pidfd, *progress);
  options.read.reset();
  options.write.reset();
  return run_guardian(agent, *progress);
}

}  // namespace dlaunch
