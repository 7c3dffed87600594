// `dlaunch agent --attach`: hands stdin and stdout of this process to the agent of a session on
// this machine.
#pragma once

#include <string>

#include "node/session/session_socket.h"

namespace dlaunch {

/// Exit code if that agent has ended; stderr says why in one line, and stdout says
/// `marker` + " gone " + the same.
inline constexpr int kSessionGone = 72;
/// The same with " hidden ": there is no trace of the agent, but it may be invisible from here and
/// its ranks may still run.
inline constexpr int kSessionHidden = 74;

/// The byte that an agent sends to the process that brought its connection when it ends in order.
inline constexpr char kFarewell = '.';

/// Writes `marker` + " ready" and a newline to stdout, hands stdin and stdout over and stays, so
/// that sshd keeps the session, until the agent lets go; after a farewell, until its guardian has
/// ended. Returns the exit code. Blocks.
[[nodiscard]] int attach_main(SessionId id, const std::string& marker);

}  // namespace dlaunch
