// Identifies processes even though pids are reused: pid and start time together name one process
// since boot. Thread-safety: free functions without state.
#pragma once

#include <cstdint>

#include <sys/types.h>

#include "os/unique_fd.h"

namespace dlaunch {

struct ProcessIdentity {
  pid_t pid = 0;
  /// Field 22 of /proc/<pid>/stat (proc(5)), clock ticks since boot; 0: unknown.
  std::uint64_t start_ticks = 0;
  bool operator==(const ProcessIdentity&) const = default;
};

/// The process that has this pid now; all 0 if there is none, or only a zombie.
[[nodiscard]] ProcessIdentity identity_of(pid_t pid);

/// A pidfd of exactly this process; invalid if it has ended.
[[nodiscard]] UniqueFd open_process(const ProcessIdentity& process);

/// pidfd_send_signal(2). Returns 0 or errno.
[[nodiscard]] int signal_process(int pidfd, int signal);

}  // namespace dlaunch
