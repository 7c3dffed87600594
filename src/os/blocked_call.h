// The system call in which a thread waits, and the file that the call is about. Reads only /proc
// and never touches that file. Thread-safety: free functions without state.
#pragma once

#include <string>

#include <sys/types.h>

namespace dlaunch {

struct BlockedCall {
  std::string verb;  // "reading"; empty: it waits in no call, or that is not known
  std::string file;  // path, or a name such as "pipe:[4711]" (proc(5)); empty: none, or unknown
};

/// The call in which a thread of a process waits. Unknown for processes that we may not trace:
/// /proc/PID/syscall needs the right to attach (ptrace(2), "Ptrace access mode checking"), so with
/// kernel.yama.ptrace_scope=1 only ancestors see it.
[[nodiscard]] BlockedCall blocked_call(pid_t process, pid_t thread);

/// "reading /mnt/nfs/x", "reading a pipe", "waiting for a lock"; empty: unknown. Numbers of pipes
/// and sockets are left out: they differ from rank to rank. Pure.
[[nodiscard]] std::string text_of(const BlockedCall& call);

}  // namespace dlaunch
