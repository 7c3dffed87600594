// Reads memory for programs that may not do so themselves. With kernel.yama.ptrace_scope=1 an
// ordinary user's process may read the memory of its descendants only (yama_ptrace_access_check()
// in security/yama/yama_lsm.c), so a program that the agent starts may not read what the ranks have
// started, but the agent may. A seccomp filter (seccomp_unotify(2)) stops each process_vm_readv(2)
// of such a program until a thread of the agent has done it.
#pragma once

#include <string>

#include <sys/types.h>

#include "os/unique_fd.h"

namespace dlaunch {

/// 0 also if the kernel has no Yama.
[[nodiscard]] int ptrace_scope();

/// Whether a process like this one may read the memory of its descendants only. Scopes 2 and 3
/// permit nobody without CAP_SYS_PTRACE, ancestors included.
[[nodiscard]] bool only_ancestors_may_read();

/// Whether this process may not read the memory of that one.
[[nodiscard]] bool is_memory_refused(pid_t pid);

/// Whether execve(2) of this file gives privileges (setuid, setgid or file capabilities), which it
/// does not after ask_for_reads().
[[nodiscard]] bool gains_privileges(const std::string& program);

/// Starts a thread that serves the programs that ask_for_reads() announces on the socket returned,
/// until every copy of that socket is closed. Each program has its own thread, so a read that waits
/// in the kernel delays no other program. Such threads of earlier questions count: with 64, no
/// program is served. Invalid: no thread can be started now.
[[nodiscard]] UniqueFd start_memory_broker();

/// From now on the broker answers process_vm_readv(2) of this process, also after execve(2), but
/// only reads of `target`, and none by processes that this one forks. Each has one range, of at
/// most 64 MiB. The process can no longer gain privileges (PR_SET_NO_NEW_PRIVS). False: nobody
/// answers, because the broker has ended or can serve no more, or because this process has a filter
/// with a listener already (a container's), and the kernel permits one.
bool ask_for_reads(int broker, pid_t target);

}  // namespace dlaunch
