// Finds out whether the kernel has killed a rank for lack of memory, from the counter of the rank's
// memory cgroup (v2 memory.events, v1 memory.oom_control; both count "oom_kill") and from the
// kernel log if we may read it; and what GPU drivers have written to that log.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "model/time.h"
#include "os/oom_record.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Where the records are. Tests use their own files.
struct OomSources {
  std::string counter;              // file with a line "oom_kill N", or empty
  std::vector<std::string> limits;  // files with a limit, from the innermost cgroup outwards
  std::string kernel_log;           // empty: not read
};

/// The sources for processes in `cgroup` (a v2 folder; empty: the calling process's) whose pids are
/// those of `outer_proc` (-1: of /proc).
[[nodiscard]] OomSources find_oom_sources(const std::string& cgroup, int outer_proc = -1);

/// Belongs to the agent's one thread.
class OomWatch {
 public:
  explicit OomWatch(OomSources sources) : sources_(std::move(sources)) {}

  /// Call at the beginning of an attempt: earlier kills do not count.
  void begin();

  /// For a process killed by a SIGKILL that we did not send: what the records say about its death,
  /// or an empty string. A kill that only the counter shows is attributed to one process. `pid`: in
  /// the node's PID namespace. Reads what the kernel log has received since the last call, for at
  /// most half a second in all calls together.
  [[nodiscard]] std::string evidence(pid_t pid);
  /// The faults (Xid) that NVIDIA's driver has logged since begin() and that were not returned yet,
  /// as records of the kernel log, one per line. Shares evidence()'s time limit.
  [[nodiscard]] std::string driver_faults();
  /// If evidence() is empty: whether the records would have shown a kill.
  [[nodiscard]] bool can_tell() const { return log_ || !sources_.counter.empty(); }

 private:
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] std::optional<OomKill> logged_kill(pid_t pid);
  [[nodiscard]] bool is_of_this_attempt(std::optional<std::chrono::microseconds> at) const;
  void read_log();
  [[nodiscard]] std::optional<std::uint64_t> limit() const;

  OomSources sources_;
  UniqueFd log_;  // opened at the first use
  std::map<pid_t, OomKill> logged_;
  std::string driver_faults_;
  MonotonicTime time_left_ = std::chrono::milliseconds(500);
  std::uint64_t attributed_ = 0;  // counted kills from before the attempt, or already attributed
  std::chrono::microseconds began_{0};
};

}  // namespace dlaunch
