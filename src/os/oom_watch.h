// Tells whether the kernel ended a rank for lack of memory: from the counter of its memory cgroup
// (v2 memory.events, v1 memory.oom_control; both count "oom_kill") and from the kernel log, where
// we may read it.
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

/// Where the records are. Tests give files of their own.
struct OomSources {
  std::string counter;              // file with a line "oom_kill N"; empty: there is none
  std::vector<std::string> limits;  // files with a limit, from the innermost cgroup outwards
  std::string kernel_log;           // empty: it is not read
};

/// The sources for processes in `cgroup` (a v2 folder; empty: in that of the calling process) that
/// are numbered as in `outer_proc` (-1: as in /proc).
[[nodiscard]] OomSources find_oom_sources(const std::string& cgroup, int outer_proc = -1);

/// Belongs to the agent's one thread.
class OomWatch {
 public:
  explicit OomWatch(OomSources sources) : sources_(std::move(sources)) {}

  /// Kills before this do not count: an attempt begins.
  void begin();

  /// For a process that a SIGKILL ended which we did not send: what the records say of it, or an
  /// empty string. A kill that only the counter tells of stands for one process. `pid`: as the
  /// node numbers it. Reads what has come to the
  /// kernel log since the last call, in all calls together for half a second at most.
  [[nodiscard]] std::string evidence(pid_t pid);
  /// When evidence() is empty: whether the records would have shown a kill.
  [[nodiscard]] bool can_tell() const { return log_ || !sources_.counter.empty(); }

 private:
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] std::optional<OomKill> logged_kill(pid_t pid);
  void read_log();
  [[nodiscard]] std::optional<std::uint64_t> limit() const;

  OomSources sources_;
  UniqueFd log_;  // opened when it is needed first, and read on from there
  std::map<pid_t, OomKill> logged_;
  MonotonicTime time_left_ = std::chrono::milliseconds(500);
  std::uint64_t attributed_ = 0;  // kills in the counter that are older, or belong to some process
  std::chrono::microseconds began_{0};
};

}  // namespace dlaunch
