// A PID namespace whose init is the agent (pid_namespaces(7)): when that process ends, for whatever
// reason, the kernel kills everything in the namespace, and the agent cannot be waited for before
// the last of it is gone. Nothing that a rank does leads out of it.
//
// Root needs no more than CAP_SYS_ADMIN. Everybody else gets a user namespace with the own user and
// group mapped to themselves (user_namespaces(7)).
#pragma once

#include <string>

#include "model/result.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// The next child of the calling process will be init of a namespace of its own; the caller itself
/// stays where it is. Only before any thread exists. The error says what was refused and what to
/// do; its code is kPreflight.
[[nodiscard]] Status open_pid_namespace();

/// In that child: a mount namespace with the /proc of the new PID namespace. Returns the root of
/// the /proc that was there before, where processes have the numbers that the node gives them.
[[nodiscard]] Result<UniqueFd> enter_pid_namespace();

/// The kernel switches that may forbid user namespaces, as read from /proc/sys; -1: no such switch.
struct NamespaceSwitches {
  int max_user_namespaces = -1;              // user.max_user_namespaces
  int unprivileged_clone = -1;               // kernel.unprivileged_userns_clone (Debian, Ubuntu)
  int apparmor_restricts_unprivileged = -1;  // kernel.apparmor_restrict_unprivileged_userns
};
/// What to do about it, in one line.
[[nodiscard]] std::string namespace_advice(const std::string& step, int error_number,
                                           const NamespaceSwitches&);

}  // namespace dlaunch
