// `dlaunch agent --attach`: hands stdin and stdout of this process to the agent of a session on
// this machine.
#pragma once

#include <string>

#include "node/session/session_socket.h"

namespace dlaunch {

/// Exit code if that agent has ended. stderr gets one line that says why, stdout `marker` + " gone
/// " + the same line.
inline constexpr int kSessionGone = 72;
/// Likewise, with " hidden ", if there is no trace of the agent: it may be invisible to this
/// process, and its ranks may still run.
inline constexpr int kSessionHidden = 74;

/// The byte that an agent sends to the process that brought its connection when it ends as
/// intended.
inline constexpr char kFarewell = '.';

/// Writes `marker` + " ready" and a newline to stdout, hands stdin and stdout over, and stays until
/// the agent closes the connection, so that sshd keeps the session. After a farewell, stays until
/// the guardian has ended. Returns the exit code. Blocks.
[[nodiscard]] int attach_main(SessionId id, const std::string& marker);

}  // namespace dlaunch
