#include "node/guardian.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/signal_names.h"
#include "node/agent.h"
#include "node/agent_watch.h"
#include "node/containers/container_folder.h"
#include "node/mpi/join_listener.h"
#include "node/mpi/pmix_folders.h"
#include "node/progress.h"
#include "node/session/session_socket.h"
#include "os/cgroup.h"
#include "os/containment.h"
#include "os/descriptors.h"
#include "os/files.h"
#include "os/own_machine.h"
#include "os/pid_namespace.h"
#include "os/process_title.h"
#include "os/signals.h"
#include "os/stuck.h"
#include "os/time_slice.h"

namespace dlaunch {

namespace {

// Killing what is left after an agent's death takes milliseconds. A process in an uninterruptible
// system call may take longer, and the guardian must not wait forever.
constexpr std::chrono::seconds kCleanupLimit{30};

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? exit_code::kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Setup that guardian and agent each do after the fork, in parallel.
void settle_in(const AgentOptions& options, int own_pidfd) {
  ::setsid();
  wake_when_parent_dies();
  shorten_time_slice();
  take_all_signals();
  close_all_but({options.read.get(), options.write.get(), own_pidfd, options.launcher.front.get(),
                 options.launcher.engine.get()});
  redirect_to_null({STDIN_FILENO, STDOUT_FILENO});
  become_subreaper();
}

/// Runs in the agent: enters the PID namespace that the guardian has opened.
AgentIsolation isolate(const Status& opened) {
  AgentIsolation isolation;
  // The agent dies with its guardian, and the kernel then kills the whole namespace. If the
  // guardian ended before this call, polling its pidfd shows it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Result<UniqueFd> outer = opened ? enter_pid_namespace() : tl::unexpected(opened.error());
  if (outer) {
    isolation.outer_proc = std::move(*outer);
  } else {
    isolation.refused = outer.error().message;
  }
  return isolation;
}

/// Names processes that are left, on stderr, which may be a terminal that a user reads.
void tell_what_is_left() {
  const std::vector<StuckProcess> stuck = find_stuck(descendants());
  if (stuck.empty()) return;
  std::fprintf(stderr, "dlaunch: %s; SIGKILL takes effect when the kernel lets it\n",
               describe(stuck).c_str());
}

int run_guardian(pid_t agent, AgentOptions options, const Progress& progress) {
  UniqueFd signals;
  if (options.reports_signals) {
    if (auto opened = open_signal_fd(signals_of_schedulers())) signals = std::move(*opened);
  }
  int status = 0;
  AgentWatch watch(agent, progress, std::move(options.launcher), signals.get(),
                   options.has_arguments);
  const AgentEnd end = watch.wait(status);
  const bool ended = end == AgentEnd::ended;
  const SessionId id{progress.session, progress.node};
  const std::string entry_folder = progress.entry_folder.data();
  // Lock it at once: another agent that found the folder unlocked would take it for abandoned.
  UniqueFd entry_lock = entry_folder.empty() ? UniqueFd() : lock_own_folder(entry_folder);
  if (!kill_descendants(kCleanupLimit)) tell_what_is_left();
  // An agent that was killed could not remove its cgroup.
  if (!ended || status != 0) sweep_abandoned_cgroups();
  if (!ended || status != 0) remove_pmix_folders(id);
  if (!entry_folder.empty()) clear_entry_folder(entry_folder, std::move(entry_lock));
  if (progress.join_folder.front() != '\0') remove_join_folder(progress.join_folder.data());
  const int code = ended                      ? exit_code_of(status)
                   : end == AgentEnd::stopped ? kAgentStopped
                                              : kAgentStuck;
  // Written only now, because a reader of the note relies on nothing running here any more.
  if (code != 0) record_session_end(session_folders(), id, how_agent_ended(code));
  return code;
}

}  // namespace

std::string agent_title(const std::string& role, const Progress& progress, bool has_arguments) {
  const std::string run = progress.knows_run ? std::string(" ") + progress.run.data() : "";
  return "dlaunch: " + role + run +
         (has_arguments ? session_arguments({progress.session, progress.node}) : "");
}

Progress* map_progress() {
  void* page =
      ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : new (page) Progress;
}

std::vector<int> signals_of_schedulers() {
  return {SIGTERM, SIGUSR1, SIGUSR2, SIGINT, SIGXCPU};
}

std::string how_agent_ended(int code) {
  if (code == kAgentStopped) return "its agent was stopped and did not continue";
  if (code == kAgentStuck)
    return "its agent waited for a file system that did not answer, and its ranks were ended";
  if (code == kAgentFenced)
    return "its agent heard nothing from the launcher for timeouts.fence_after and ended everything";
  if (code > exit_code::kSignalBase)
    return "its agent was killed by " + signal_name(code - exit_code::kSignalBase);
  return "its agent ended with code " + std::to_string(code);
}

int guardian_main(AgentOptions options) {
  // Fork as early as possible: a run waits for the agent's start.
  Progress* progress = map_progress();
  const UniqueFd own_pidfd(open_pidfd(::getpid()));
  if (!own_pidfd) {
    std::fprintf(stderr, "dlaunch: pidfd_open: %s (Linux 5.3 or newer is needed)\n",
                 errno_text(errno).c_str());
  }
  if (progress == nullptr || !own_pidfd) return exit_code::kInternal;
  progress->session = options.session;
  progress->node = options.node;
  become_subreaper();  // before the first fork
  const bool isolated = options.pid_namespace;
  if (isolated) options.machine = machine_identity();  // found out outside the namespace
  const Status opened = isolated ? open_pid_namespace() : Status();
  const pid_t agent = ::fork();
  if (agent < 0) return exit_code::kInternal;
  settle_in(options, own_pidfd.get());
  if (agent == 0) {
    agent_main(std::move(options), isolated ? isolate(opened) : AgentIsolation(), own_pidfd,
               *progress);
  }
  options.read.reset();
  options.write.reset();
  // Not dumpable, so that a rank cannot stop the guardian by ptrace(2) and outlive its job. An
  // agent that a rank traces is killed by its guardian. The agent stays dumpable, because otherwise
  // its files in /proc would belong to root (proc(5)), but MPI's helper is executed from
  // /proc/AGENT/fd.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return run_guardian(agent, std::move(options), *progress);
}

}  // namespace dlaunch
