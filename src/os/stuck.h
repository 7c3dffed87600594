// Processes that even SIGKILL cannot end now: they wait in an uninterruptible system call (state D
// of proc(5)), mostly for a file system that does not answer. Everything here reads /proc only and
// never touches the file system in question. Thread-safety: free functions without state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace dlaunch {

/// State of a process, or of its main thread, as proc(5) names it; 0 when it is gone.
[[nodiscard]] char state_of(pid_t pid);

struct StuckProcess {
  pid_t pid = 0;
  std::string name;          // as the kernel keeps it, at most 15 bytes
  std::string wait_channel;  // the kernel function in which it waits; empty: not told
  std::string file_system;   // "ext4 at /data (/dev/sdb1)"; empty: not known
};

/// Those of `pids` that have a thread in state D now.
[[nodiscard]] std::vector<StuckProcess> find_stuck(const std::vector<pid_t>& pids);

/// True if every one of `pids` has ended (a zombie has) or has a thread in state D: sending SIGKILL
/// again changes nothing.
[[nodiscard]] bool are_beyond_kill(const std::vector<pid_t>& pids);

/// "pid 4711 (python) waits for ext4 at /data (/dev/sdb1) (state D, percpu_rwsem_wait)".
[[nodiscard]] std::string describe(const StuckProcess& process);
/// Several of them, those that wait for the same thing together, at most four of each: "pid 7
/// (engine), pid 9 (agent) and 3 more wait for ...; pid 10 (sh) waits for ...".
[[nodiscard]] std::string describe(const std::vector<StuckProcess>& processes);

/// The mount of an absolute path, from the text of /proc/self/mountinfo (proc(5)):
/// "ext4 at /data (/dev/sdb1)"; empty if there is none. Pure.
[[nodiscard]] std::string file_system_of(std::string_view path, std::string_view mountinfo);
[[nodiscard]] std::string file_system_of(std::string_view path);

}  // namespace dlaunch
