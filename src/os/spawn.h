// Starts a process, such as a rank. Everything is prepared before the fork; the child makes only
// async-signal-safe calls.
#pragma once

#include <string>
#include <vector>

#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "model/environment.h"
#include "model/exit_status.h"

namespace dlaunch {

/// The files to try execve(2) on, found once per command and PATH.
struct Program {
  std::vector<std::string> candidates;  // in order of PATH; one element when the name has a '/'
  std::string name;                     // as written in the command
  std::string search_path;              // PATH, when it was searched; else empty
};

/// Looks `name` up as execvp(3) does, but in `search_path`, with relative entries (and a relative
/// name) resolved from `workdir`. Returns only existing candidates, up to the first executable one;
/// none means "not found".
[[nodiscard]] Program find_program(const std::string& name, const std::string& search_path,
                                   const std::string& workdir);

/// The candidate that execve(2) would execute; empty if there is none.
[[nodiscard]] std::string executable_of(const Program& program);

/// NAME=VALUE each.
[[nodiscard]] std::vector<std::string> environment_entries(const Environment& environment);

/// Null-terminated pointers for execve(2), valid as long as the strings.
[[nodiscard]] std::vector<const char*> argv_pointers(const std::vector<std::string>& words);

struct SpawnRequest {
  const Program* program = nullptr;
  const char* const* argv = nullptr;  // null-terminated
  const char* const* envp = nullptr;  // null-terminated
  const char* workdir = nullptr;
  int stdin_fd = -1;  // all three above 2
  int stdout_fd = -1;
  int stderr_fd = -1;
  int extra_fd = -1;         // one more that the program gets, as `extra_fd_number`; -1: none
  int extra_fd_number = -1;  // above 2
  const cpu_set_t* cpus = nullptr;     // null: inherits
  std::size_t cpus_size = 0;           // bytes
  const rlimit* open_files = nullptr;  // RLIMIT_NOFILE to restore; null: inherits
  int cgroup = -1;           // cgroup v2 folder to start in, if the kernel allows; -1: ours
  bool new_session = false;  // else only its own process group
  bool own_terminal = false;  // with new_session: stdin_fd becomes its controlling terminal
  pid_t tracer = 0;           // it and its descendants may trace the program; 0: the caller
  int outer_proc = -1;       // /proc of another PID namespace, from which `outer_pid` is read
};

struct Spawned {
  pid_t pid = 0;
  pid_t outer_pid = 0;  // the same process as `outer_proc` numbers it; without one, `pid`
  bool in_cgroup = false;
  bool cgroup_is_unusable = false;  // the kernel refuses it for good, or kills what starts in it
};

/// The new process leads its own process group or session, gets SIGKILL when the calling thread
/// ends (prctl(2) PR_SET_PDEATHSIG; a set-id program loses this), and has an empty signal mask and
/// no descriptors but 0, 1, 2 and `extra_fd`. `tracer` and its descendants may trace it even where
/// Yama restricts ptrace(2). Call only from the main thread of a process that blocks all signals.
[[nodiscard]] tl::expected<Spawned, StartFailure> spawn(const SpawnRequest&);

}  // namespace dlaunch
