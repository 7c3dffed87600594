#include "os/containment.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <iterator>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/proc_file.h"
#include "os/stuck.h"
#include "os/unique_fd.h"

namespace dlaunch {

namespace {

constexpr std::chrono::microseconds kShortestPause{200};
constexpr std::chrono::microseconds kLongestPause{20'000};

std::optional<std::string> read_proc(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

std::vector<pid_t> numbers_in(std::string_view text) {
  std::vector<pid_t> numbers;
  while (!text.empty()) {
    pid_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc()) numbers.push_back(number);
    const std::size_t used = static_cast<std::size_t>(end - text.data());
    text.remove_prefix(std::min(text.size(), std::max<std::size_t>(used, 1)));
  }
  return numbers;
}

pid_t parent_of(pid_t pid) {
  const std::string stat = read_proc_file("/proc/" + std::to_string(pid) + "/stat");
  const std::string_view field = stat_field(stat, 4);
  pid_t parent = 0;
  std::from_chars(field.data(), field.data() + field.size(), parent);
  return parent;
}

std::vector<pid_t> children_by_scan(pid_t pid) {
  std::vector<pid_t> children;
  for (const pid_t candidate : numbered_entries("/proc")) {
    if (parent_of(candidate) == pid) children.push_back(candidate);
  }
  return children;
}

/// Whether it is our child and a zombie, so that nothing is below it. Cheaper than reading /proc,
/// which may be necessary thousands of times when processes fork faster than we reap.
bool is_zombie_child(pid_t pid) {
  siginfo_t ended{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &ended,
                  WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
         ended.si_pid == pid;
}

}  // namespace

void become_subreaper() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void wake_when_parent_dies() {
  ::prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
}

std::vector<pid_t> threads_of(pid_t pid) {
  return numbered_entries("/proc/" + std::to_string(pid) + "/task");
}

std::vector<pid_t> children_of(pid_t pid) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task/";
  std::vector<pid_t> children;
  for (const pid_t thread : threads_of(pid)) {
    const auto text = read_proc(tasks + std::to_string(thread) + "/children");
    if (!text) {
      // Gone since the listing, or a kernel without CONFIG_PROC_CHILDREN.
      if (errno == ENOENT && thread == pid && ::kill(pid, 0) == 0) return children_by_scan(pid);
      continue;
    }
    const auto found = numbers_in(*text);
    children.insert(children.end(), found.begin(), found.end());
  }
  return children;
}

std::vector<pid_t> descendants(const std::set<pid_t>& spared) {
  std::vector<pid_t> found;
  const pid_t self = ::getpid();
  // A walk over a changing tree may meet a process twice: `seen` also bounds it.
  std::set<pid_t> seen{self};
  std::vector<pid_t> open{self};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    for (const pid_t child : children_of(parent)) {
      if (spared.contains(child) || !seen.insert(child).second) continue;
      found.push_back(child);
      if (parent != self || !is_zombie_child(child)) open.push_back(child);
    }
  }
  return found;
}

void kill_these(const std::vector<pid_t>& found, const std::set<pid_t>& spared) {
  // A process group dies at once, including what it is just forking (kill(2)). A descendant's group
  // contains only descendants: its session was started by one of them, or is ours, and in ours only
  // our own group has other members.
  if (spared.empty()) {
    std::set<pid_t> groups{::getpgrp()};
    for (const pid_t pid : found) {
      const pid_t group = ::getpgid(pid);
      if (group > 1 && groups.insert(group).second) ::kill(-group, SIGKILL);
    }
  }
  for (const pid_t pid : found) ::kill(pid, SIGKILL);
  // A process with a pending SIGKILL cannot fork: these processes get no more children.
  std::set<pid_t> seen(found.begin(), found.end());
  std::vector<pid_t> open;
  std::copy_if(found.begin(), found.end(), std::back_inserter(open),
               [](pid_t pid) { return !is_zombie_child(pid); });
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    for (const pid_t child : children_of(parent)) {
      if (spared.contains(child) || !seen.insert(child).second) continue;
      ::kill(child, SIGKILL);
      open.push_back(child);
    }
  }
}

std::vector<pid_t> kill_descendants_once(const std::set<pid_t>& spared) {
  std::vector<pid_t> found = descendants(spared);
  kill_these(found, spared);
  return found;
}

bool is_child(pid_t pid) {
  siginfo_t ignored{};
  return pid > 0 && ::waitid(P_PID, static_cast<id_t>(pid), &ignored,
                             WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

ReapPass reap_some(const std::function<void(const Reaped&)>& on_reaped) {
  constexpr int kAtMost = 256;
  ReapPass pass;
  for (int i = 0; i < kAtMost; i++) {
    const auto reaped = reap_one(pass.none_left);
    if (!reaped) return pass;
    if (on_reaped) on_reaped(*reaped);
  }
  pass.more = true;
  return pass;
}

std::optional<Reaped> reap_one(bool& none_left) {
  int status = 0;
  pid_t pid = 0;
  do {
    pid = ::waitpid(-1, &status, WNOHANG | __WALL);
  } while (pid < 0 && errno == EINTR);
  none_left = pid < 0;
  if (pid <= 0) return std::nullopt;
  Reaped reaped{pid, {}};
  reaped.status.signaled = WIFSIGNALED(status);
  reaped.status.value = reaped.status.signaled ? WTERMSIG(status) : WEXITSTATUS(status);
  reaped.status.core_dumped = reaped.status.signaled && WCOREDUMP(status);
  return reaped;
}

void wait_for_child(std::chrono::milliseconds limit) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const timespec time{limit.count() / 1000, limit.count() % 1000 * 1'000'000};
  ::sigtimedwait(&child, nullptr, &time);
}

bool kill_descendants(std::chrono::milliseconds limit, const std::set<pid_t>& spared) {
  return kill_descendants(
      limit, [&] { return kill_descendants_once(spared); }, !spared.empty());
}

bool kill_descendants(std::chrono::milliseconds limit, const KillRound& round, bool some_spared) {
  const MonotonicTime end = monotonic_now() + limit;
  MonotonicTime stuck_since = MonotonicTime::max();
  std::chrono::microseconds pause = kShortestPause;
  while (true) {
    const ReapPass reaped = reap_some();
    if (reaped.none_left) return true;
    // Children, but nothing to kill: these are the spared ones, or /proc shows none.
    const std::vector<pid_t> found = round();
    if (found.empty()) return some_spared;
    const MonotonicTime now = monotonic_now();
    if (now > end) return false;
    if (pause == kLongestPause) {
      stuck_since = are_beyond_kill(found) ? std::min(stuck_since, now) : MonotonicTime::max();
      if (stuck_since < now && now - stuck_since > kBeyondKill) return false;
    }
    if (reaped.more) continue;
    // The kernel needs time to tear a process down, and there is no event for "any descendant". The
    // pause grows, because some take seconds.
    const timespec moment{0, std::chrono::nanoseconds(pause).count()};
    ::nanosleep(&moment, nullptr);
    pause = std::min(2 * pause, kLongestPause);
  }
}

bool end_descendants_but(const std::set<pid_t>& spared, std::chrono::milliseconds limit) {
  const MonotonicTime end = monotonic_now() + limit;
  while (true) {
    const std::vector<pid_t> found = kill_descendants_once(spared);
    if (found.empty()) return true;
    // Those that are not our children are reaped by their parent, or become ours.
    for (const pid_t pid : found) ::waitpid(pid, nullptr, WNOHANG | __WALL);
    if (monotonic_now() > end) return descendants(spared).empty();
    const timespec moment{0, 1'000'000};
    ::nanosleep(&moment, nullptr);
  }
}

int open_pidfd(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

}  // namespace dlaunch
