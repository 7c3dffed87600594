// Processes that SIGKILL cannot end now: they wait in an uninterruptible system call (state D of
// proc(5)), usually for a file system that does not answer. Reads only /proc and never touches that
// file system. Thread-safety: free functions without state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace dlaunch {

/// State of the process's main thread as a letter of proc(5); 0 if it has ended.
[[nodiscard]] char state_of(pid_t pid);

struct StuckProcess {
  pid_t pid = 0;
  std::string name;          // as the kernel stores it, at most 15 bytes
  std::string wait_channel;  // the kernel function in which it waits; empty: unknown
  std::string file_system;   // "ext4 at /data (/dev/sdb1)"; empty: unknown
};

/// Those of `pids` that have a thread in state D now.
[[nodiscard]] std::vector<StuckProcess> find_stuck(const std::vector<pid_t>& pids);

/// Whether each of `pids` has ended (perhaps as a zombie) or has a thread in state D, so that
/// another SIGKILL changes nothing.
[[nodiscard]] bool are_beyond_kill(const std::vector<pid_t>& pids);

/// "pid 4711 (python) waits for ext4 at /data (/dev/sdb1) (state D, percpu_rwsem_wait)".
[[nodiscard]] std::string describe(const StuckProcess& process);
/// Grouped by what they wait for: "pid 7 (engine) and pid 9 (agent) wait for ...; pid 10 (sh) waits
/// for ...". Names at most four of each group: "... and 3 more wait for ...".
[[nodiscard]] std::string describe(const std::vector<StuckProcess>& processes);

/// The mount of an absolute path, from the text of /proc/self/mountinfo (proc(5)):
/// "ext4 at /data (/dev/sdb1)"; empty if there is none. Pure.
[[nodiscard]] std::string file_system_of(std::string_view path, std::string_view mountinfo);
/// Whether something is mounted below an absolute path; `mountinfo`: as above.
[[nodiscard]] bool has_mount_below(std::string_view path, std::string_view mountinfo);
[[nodiscard]] std::string file_system_of(std::string_view path);

}  // namespace dlaunch
