// A PID namespace whose init is the agent (pid_namespaces(7)): when the agent ends, for whatever
// reason, the kernel kills everything in the namespace, and the agent can be reaped only after the
// last process there has ended. A rank cannot leave it.
//
// A process with CAP_SYS_ADMIN needs nothing else. Others get a user namespace in which their own
// user and group are mapped to themselves (user_namespaces(7)).
#pragma once

#include <string>

#include "model/result.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// The next child of the calling process will be init of a new namespace; the caller stays outside.
/// Only before any thread exists. The error (kPreflight) says what was refused and what to do.
[[nodiscard]] Status open_pid_namespace();

/// In that child: enters a mount namespace with the /proc of the new PID namespace. Returns the
/// root of the previous /proc, where processes have the pids of the node.
[[nodiscard]] Result<UniqueFd> enter_pid_namespace();

/// Why the two functions above do not work for this process, and the remedy on a second line;
/// empty: they do. Tries them in separate processes. Only before any thread exists.
[[nodiscard]] std::string why_no_pid_namespace();

/// Kernel settings of /proc/sys that may forbid user namespaces; -1: no such setting.
struct NamespaceSwitches {
  int max_user_namespaces = -1;              // user.max_user_namespaces
  int unprivileged_clone = -1;               // kernel.unprivileged_userns_clone (Debian, Ubuntu)
  int apparmor_restricts_unprivileged = -1;  // kernel.apparmor_restrict_unprivileged_userns
};
/// Advice for the user, in one line.
[[nodiscard]] std::string namespace_advice(const std::string& step, int error_number,
                                           const NamespaceSwitches&);

}  // namespace dlaunch
