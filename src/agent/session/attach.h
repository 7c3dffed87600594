// `dlaunch agent --attach`: gives stdin and stdout of this process to the agent of a session that
// runs on this machine already.
#pragma once

#include <string>

#include "agent/session/session_place.h"

namespace dlaunch {

/// Exit code when there is no such agent any more; stderr says why in one line, and stdout
/// `marker` + " gone " + the same.
inline constexpr int kSessionGone = 72;
/// The same with " hidden " when there is no trace of one, which may be for want of sight: its
/// ranks may still run.
inline constexpr int kSessionHidden = 74;

/// What an agent says to the process that brought its connection, when it ends in order.
inline constexpr char kFarewell = '.';

/// Writes `marker` + " ready" and a newline to stdout, hands stdin and stdout over and stays, so
/// that sshd keeps the session, until the agent lets go; after a farewell until its guardian has
/// ended. Returns the exit code. Blocks.
[[nodiscard]] int attach_main(SessionId id, const std::string& marker);

}  // namespace dlaunch
