// How a new connection finds the agent of a session on its node.
//
// First by an abstract unix socket (unix(7)). It belongs to the network namespace and not to a file
// system, so logins that each have a /tmp of their own (pam_namespace(8), PrivateTmp= of
// systemd.exec(5)) all see it. Any user may bind and list such names. So the agent adds a random
// number to the session's name, a search tries all names that begin with the session's, and only
// the credentials of the listening process (SO_PEERCRED) prove that it is ours.
//
// Second by a unix socket named after the session in a folder that only this user may enter; a note
// beside it says how an agent ended. Candidates, in this order: /tmp/dlaunch-UID, dlaunch's cache
// folder (${XDG_CACHE_HOME:-~/.cache}/dlaunch), $XDG_RUNTIME_DIR/dlaunch. $XDG_RUNTIME_DIR comes
// last because logind removes it with the user's last session, which may be the connection that
// broke.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "os/unique_fd.h"

namespace dlaunch {

/// One agent of a run: all agents of a run share its session id.
struct SessionId {
  std::uint64_t session = 0;
  std::uint32_t node = 0;
};
/// "agent-00000000000000ff-3".
[[nodiscard]] std::string session_name(SessionId id);

/// " --session ID --node N", as on the command lines of a session's agent and its guardian
/// (launch/connect/remote_script.h).
[[nodiscard]] std::string session_arguments(SessionId id);

/// The candidates, absolute, from the environment of this process.
[[nodiscard]] std::vector<std::string> session_folders();

/// A listening socket, mode 0600, in the first candidate that accepts one.
struct SessionSocket {
  UniqueFd listener;
  UniqueFd folder;
};
/// The error says what is wrong with each candidate: it belongs to another user, is open to others,
/// or is a link.
[[nodiscard]] Result<SessionSocket> open_session_socket(const std::vector<std::string>& folders,
                                                        SessionId id);
/// The abstract socket; invalid if it cannot be made.
[[nodiscard]] UniqueFd open_abstract_socket(SessionId id);
/// Marks the socket as used: systemd-tmpfiles(8) and similar programs remove files, even sockets,
/// that were not touched for days, unless they know the path under which the socket was bound.
void touch_session_socket(const SessionSocket& socket, SessionId id);
/// Removes the socket's name.
void remove_session_socket(const SessionSocket& socket, SessionId id);

/// Replaces the socket of a dead agent by a note that tells processes looking for the session how
/// it ended. Does nothing where there is no socket. Also removes notes that are older than a day.
void record_session_end(const std::vector<std::string>& folders, SessionId id,
                        const std::string& note);

/// How to reach the agent of a session on this node.
struct SessionFound {
  UniqueFd connection;   // invalid: no agent was found
  std::string gone;      // then: why, for the user
  bool certain = false;  // then: there was a trace of the agent, so it has ended and is not just
                         // hidden
};
/// Waits at most 1.5 s for a guardian that is still killing what a killed agent has left.
[[nodiscard]] SessionFound find_session(const std::vector<std::string>& folders, SessionId id);

/// Whether an agent of the session listens, even a stopped or blocked one, or the process of the
/// agent or of its guardian exists. Does not disturb them, and trusts nothing that another user
/// could have made. If the agent is dead, does not see a guardian in another PID namespace.
[[nodiscard]] bool session_exists(const std::vector<std::string>& folders, SessionId id);
/// Waits at most 1 s until the session does not exist. False: it still exists.
[[nodiscard]] bool wait_for_session_end(const std::vector<std::string>& folders, SessionId id);

}  // namespace dlaunch
