#include "node/agent_watch.h"

#include <array>
#include <csignal>
#include <string>
#include <utility>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/containment.h"
#include "os/job_tree.h"
#include "os/proc_file.h"
#include "os/process_title.h"
#include "os/signals.h"
#include "os/stuck.h"
#include "text/number.h"

namespace dlaunch {

namespace {

// Limit for an engine or agent in state D after their launcher has gone: they may recover.
constexpr std::uint32_t kStuckLimitMs = 5000;
// Limit for an agent that is not in state D. Its own limits for ending everything are shorter.
constexpr std::uint32_t kEndLimitMs = 60000;

constexpr int kExitCode = 52;  // of the main thread: a field of /proc/PID/stat (proc(5))

/// A rank that is stopped between fork and exec keeps its agent in vfork(2) until it continues.
void wake_ranks_without_program(pid_t agent) {
  for (const pid_t child : children_of(agent)) {
    if (state_of(child) == 'T' && program_of(child) == program_of(agent)) ::kill(child, SIGCONT);
  }
}

}  // namespace

AgentWatch::AgentWatch(pid_t agent, const Progress& progress, LauncherWatch launcher, int signals,
                       bool has_arguments)
    : agent_(agent),
      progress_(progress),
      launcher_(std::move(launcher)),
      signals_(signals),
      has_arguments_(has_arguments),
      pidfd_(open_pidfd(agent)) {
  show_title();
}

void AgentWatch::show_title() {
  std::string title = agent_title("guardian", progress_, has_arguments_);
  if (title == title_) return;
  set_process_title(title);
  title_ = std::move(title);
}

AgentEnd AgentWatch::wait(int& status) {
  while (true) {
    const std::uint32_t tick = progress_.heartbeat_ms.load();
    const auto unless_gone = [this](const UniqueFd& fd) { return launcher_gone_ ? -1 : fd.get(); };
    std::array<pollfd, 4> watched{{{pidfd_.get(), POLLIN, 0},
                                   {signals_, POLLIN, 0},
                                   {unless_gone(launcher_.front), POLLIN, 0},
                                   {unless_gone(launcher_.engine), POLLIN, 0}}};
    (void)::poll(watched.data(), watched.size(), static_cast<int>(tick));
    if (watched[0].revents != 0 && ::waitpid(agent_, &status, 0) == agent_) {
      show_title();  // so a search for the agent's last session finds the guardian
      return AgentEnd::ended;
    }
    if (watched[1].revents != 0) {
      // A scheduler usually signals only the leader of a step, which is the guardian.
      while (const int number = read_signal(signals_)) ::kill(agent_, number);
      continue;
    }
    launcher_gone_ = launcher_gone_ || watched[2].revents != 0 || watched[3].revents != 0;
    look(tick);
    if (has_left_threads(tick)) {
      const std::string stat = read_proc_file("/proc/" + std::to_string(agent_) + "/stat");
      status = number_of<int>(stat_field(stat, kExitCode)).value_or(0);
      return AgentEnd::ended;
    }
    if (must_end_stopped(tick)) return AgentEnd::stopped;
    if (must_end_stuck(tick)) return AgentEnd::stuck;
  }
}

void AgentWatch::look(std::uint32_t tick) {
  show_title();
  const std::uint64_t beat = progress_.beats.load();
  const bool silent = beat == last_beat_;
  last_beat_ = beat;
  // An agent in an uninterruptible system call makes no progress but is alive.
  const char state = silent ? state_of(agent_) : '\0';
  const bool in_disk = state == 'D';
  if (in_disk) wake_ranks_without_program(agent_);
  silent_ms_ = silent && !in_disk ? silent_ms_ + tick : 0;
  ended_ms_ = state == 'Z' ? ended_ms_ + tick : 0;
  in_disk_ms_ = in_disk ? in_disk_ms_ + tick : 0;
  if (!launcher_gone_) return;
  gone_ms_ += tick;
  const bool stuck = in_disk || state_of(launcher_.engine_pid) == 'D';
  gone_stuck_ms_ = stuck ? gone_stuck_ms_ + tick : 0;
}

/// Its main thread has ended, and SIGKILL does not end another one (os/memory_broker), which waits
/// in the kernel: until that ends, the kernel does not report the end of the process.
bool AgentWatch::has_left_threads(std::uint32_t tick) const {
  return ended_ms_ >= 2 * tick;
}

bool AgentWatch::must_end_stopped(std::uint32_t tick) const {
  return silent_ms_ >= progress_.fence_after_ms.load() + 2 * tick;
}

bool AgentWatch::must_end_stuck(std::uint32_t tick) const {
  if (gone_stuck_ms_ >= kStuckLimitMs || gone_ms_ >= launcher_.grace_ms + kEndLimitMs) return true;
  // The agent should have ended the ranks by now, and the launcher may assume that it has.
  const auto lease_end = static_cast<MonotonicTime::rep>(progress_.lease_end.load());
  return lease_end > 0 && in_disk_ms_ >= 2 * tick && monotonic_now().count() > lease_end;
}

}  // namespace dlaunch
