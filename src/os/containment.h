// Ends everything that a process of ours has started, however far it tried to run away: a process
// that double-forks or starts a session is re-parented to the nearest living subreaper above it
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

/// Orphans among our descendants become our children from now on. Not inherited by fork.
void become_subreaper();

/// The calling process gets SIGCONT when its parent (the thread that forked it) ends: it has then
/// work to do, and may be stopped (prctl(2) PR_SET_PDEATHSIG). Not inherited by fork.
void wake_when_parent_dies();

/// Direct children of a process, from /proc/<pid>/task/*/children (proc(5)), or from the parent
/// fields of all processes where the kernel lacks that file.
[[nodiscard]] std::vector<pid_t> children_of(pid_t pid);

/// The threads of a process; empty when it is gone.
[[nodiscard]] std::vector<pid_t> threads_of(pid_t pid);

/// All descendants of the calling process, without `spared` and what is below them.
[[nodiscard]] std::vector<pid_t> descendants(const std::set<pid_t>& spared = {});

/// One round: SIGKILL to every descendant. Returns their pids. Rounds are repeated until nobody is
/// left, because a process may fork between the walk and the kill; its children then come to us.
std::vector<pid_t> kill_descendants_once(const std::set<pid_t>& spared = {});

/// The second half of that: SIGKILL to these descendants, their process groups, and what they have
/// forked since they were found.
void kill_these(const std::vector<pid_t>& found, const std::set<pid_t>& spared = {});

/// Reaps one ended child; nullopt: none has ended. `none_left` is set when there are no children at
/// all.
struct Reaped {
  pid_t pid = 0;
  ExitStatus status;
};
[[nodiscard]] std::optional<Reaped> reap_one(bool& none_left);

/// Blocks until a child has ended (it stays to be reaped) or the limit has passed. SIGCHLD must be
/// blocked.
void wait_for_child(std::chrono::milliseconds limit);

/// Kills in rounds until no descendant is left or the limit has passed; blocks. True: none is left.
/// Ends early if for kBeyondKill only processes were left that no signal can end: those in an
/// uninterruptible system call (os/stuck.h), and ended ones that such a parent does not reap. A
/// driver that frees the memory of a GPU takes seconds in that state, too.
inline constexpr std::chrono::seconds kBeyondKill{10};
bool kill_descendants(std::chrono::milliseconds limit, const std::set<pid_t>& spared = {});
/// With rounds of the caller's own, which return whom they found. `some_spared`: finding nobody is
/// no failure while there are children.
using KillRound = std::function<std::vector<pid_t>()>;
bool kill_descendants(std::chrono::milliseconds limit, const KillRound& round,
                      bool some_spared = false);

/// The same for a process that goes on: it reaps nobody but those whom it has killed, so that
/// others learn of the ends that they wait for.
bool end_descendants_but(const std::set<pid_t>& spared, std::chrono::milliseconds limit);

/// pidfd_open(2); invalid if the process is gone.
[[nodiscard]] int open_pidfd(pid_t pid);

}  // namespace dlaunch
