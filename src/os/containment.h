// Ends everything that one of our processes has started, even if it tried to escape: a process that
// double-forks or starts a session is re-parented to the nearest living subreaper above it
// (prctl(2) PR_SET_CHILD_SUBREAPER), which is one of ours.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include <sys/types.h>

#include "model/exit_status.h"

namespace dlaunch {

/// From now on orphans among our descendants become our children. Not inherited by fork.
void become_subreaper();

/// The calling process gets SIGCONT when its parent (the thread that forked it) ends, because it
/// must act then and may be stopped (prctl(2) PR_SET_PDEATHSIG). Not inherited by fork.
void wake_when_parent_dies();

/// Direct children of a process, from /proc/PID/task/*/children (proc(5)), or from the parent
/// fields of all processes if the kernel lacks that file.
[[nodiscard]] std::vector<pid_t> children_of(pid_t pid);

/// The threads of a process; empty if it has ended.
[[nodiscard]] std::vector<pid_t> threads_of(pid_t pid);

/// All descendants of the calling process, except `spared` and what is below them.
[[nodiscard]] std::vector<pid_t> descendants(const std::set<pid_t>& spared = {});

/// One round: SIGKILL to every descendant. Returns their pids. Repeat until none is left: a process
/// may fork between the walk and the kill, and its children are then re-parented to us.
std::vector<pid_t> kill_descendants_once(const std::set<pid_t>& spared = {});

/// The second half of a round: SIGKILL to these descendants, their process groups, and what they
/// have forked since they were found.
void kill_these(const std::vector<pid_t>& found, const std::set<pid_t>& spared = {});

/// Whether the process is our child, running or not reaped yet.
[[nodiscard]] bool is_child(pid_t pid);

/// Reaps one ended child; nullopt: none has ended. Sets `none_left` if there are no children at
/// all.
struct Reaped {
  pid_t pid = 0;
  ExitStatus status;
};
[[nodiscard]] std::optional<Reaped> reap_one(bool& none_left);

/// Reaps ended children, the oldest first, but only a few hundred of them: otherwise processes that
/// fork and exit endlessly would keep the caller from ending them.
struct ReapPass {
  bool none_left = false;  // there are no children at all
  bool more = false;       // others may have ended: call again
};
ReapPass reap_some(const std::function<void(const Reaped&)>& on_reaped = {});

/// Blocks until a child has ended, without reaping it, or the limit has passed. SIGCHLD must be
/// blocked.
void wait_for_child(std::chrono::milliseconds limit);

/// Kills in rounds until no descendant is left or the limit has passed; blocks. True: none is left.
/// Gives up early if, for kBeyondKill, every process left has been in an uninterruptible system
/// call (os/stuck.h), or has ended but is not reaped because its parent is in one. A driver that
/// frees the memory of a GPU may stay in that state for seconds.
inline constexpr std::chrono::seconds kBeyondKill{10};
bool kill_descendants(std::chrono::milliseconds limit, const std::set<pid_t>& spared = {});
/// The same with the caller's own rounds, which return the processes that they found.
/// `some_spared`: children that no round finds are not a failure.
using KillRound = std::function<std::vector<pid_t>()>;
bool kill_descendants(std::chrono::milliseconds limit, const KillRound& round,
                      bool some_spared = false);

/// The same for a caller that continues to run: it reaps only the processes that it has killed, so
/// that other code still learns of the children that it waits for.
bool end_descendants_but(const std::set<pid_t>& spared, std::chrono::milliseconds limit);

/// pidfd_open(2); -1 if there is no such process, or the kernel has no pidfds.
[[nodiscard]] int open_pidfd(pid_t pid);

}  // namespace dlaunch
