// Which process a number means. A pid is given away again after its process has ended; together
// with the time of its start and the boot of the kernel it names one process for ever.
// Thread-safety: free functions without state.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "os/unique_fd.h"

namespace dlaunch {

struct ProcessIdentity {
  pid_t pid = 0;
  /// Field 22 of /proc/<pid>/stat (proc(5)), clock ticks since boot; 0: unknown.
  std::uint64_t start_ticks = 0;
  bool operator==(const ProcessIdentity&) const = default;
};

/// What runs under this pid now; all 0 if nothing does (a zombie has ended too).
[[nodiscard]] ProcessIdentity identity_of(pid_t pid);

/// A pidfd of exactly this process; invalid if it has ended or somebody else has the pid.
[[nodiscard]] UniqueFd open_process(const ProcessIdentity& process);

/// pidfd_send_signal(2): 0, or an errno value (EPERM: another user's, ESRCH: it has ended).
[[nodiscard]] int signal_process(int pidfd, int signal);

/// Random number of this boot of the kernel (random(4)): the same in every container of a machine,
/// another one on every other machine. Empty if unknown.
[[nodiscard]] std::string boot_id();

/// As uname(2) tells it.
[[nodiscard]] std::string host_name();

}  // namespace dlaunch
