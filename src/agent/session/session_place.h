// Where on its node the agent of a session is found again. First at an abstract unix socket
// (unix(7)), which belongs to the network and not to a file system: logins that each have a /tmp of
// their own (pam_namespace(8), PrivateTmp= of systemd.exec(5)) all see it. Any user may bind and
// list such names. So the agent adds a random number to the session's name, a search tries all
// names that begin with the session's, and only the credentials of the process that listens
// (SO_PEERCRED) prove that it is ours. Second, at a unix socket named after the session, in a
// folder that only the user may enter; a file there also tells how an agent has ended.
// Candidates for the folder, in this order: /tmp/dlaunch-UID, the cache folder where
// dlaunch itself lies (${XDG_CACHE_HOME:-~/.cache}/dlaunch), $XDG_RUNTIME_DIR/dlaunch. The last is
// last because logind removes it with the user's last session, which may be the very connection
// that broke.
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

/// " --session ID --node N", as it stands on the command line of an agent that another one may look
/// for, and of its guardian (launch/connect/remote_script.h).
[[nodiscard]] std::string words_of_session(SessionId id);

/// The candidates, absolute, from the environment of this process.
[[nodiscard]] std::vector<std::string> session_folders();

/// A listening socket, mode 0600, in the first candidate that takes one.
struct SessionSocket {
  UniqueFd listener;
  UniqueFd folder;
};
/// The error names every candidate and what is wrong with it: not ours, open to others, a link.
[[nodiscard]] Result<SessionSocket> open_session_socket(const std::vector<std::string>& folders,
                                                        SessionId id);
/// The one without a folder; invalid: it is not to be had.
[[nodiscard]] UniqueFd open_nameless_socket(SessionId id);
/// Shows that it is in use: systemd-tmpfiles(8) and its like take away what nobody has touched for
/// days, a socket too unless they know the path under which it was bound.
void touch_session_socket(const SessionSocket& socket, SessionId id);
/// Takes the socket's name away.
void remove_session_socket(const SessionSocket& socket, SessionId id);

/// For a socket whose agent is dead: takes it away and leaves a word of how the session has ended
/// in its place, for those who look for it. Nothing happens where there is no socket. What nobody
/// has looked for within a day is removed by the next one who leaves a word.
void leave_last_word(const std::vector<std::string>& folders, SessionId id,
                     const std::string& word);

/// How to reach the agent of a session on this node.
struct SessionFound {
  UniqueFd connection;   // invalid: it is not there any more
  std::string gone;      // then: why, for a person
  bool certain = false;  // then: there was a trace of it, so that it is gone and not hidden
};
/// Waits at most 1.5 s: for a guardian that is still ending what a killed agent has left.
[[nodiscard]] SessionFound find_session(const std::vector<std::string>& folders, SessionId id);

/// Whether an agent of the session still listens, also one that is stopped or blocked, or its
/// guardian or it is still a process. Disturbs neither of them, and believes nothing that another
/// user could have made. One whose agent is dead and whose guardian is in a process namespace that
/// is not ours is not seen.
[[nodiscard]] bool is_there(const std::vector<std::string>& folders, SessionId id);
/// Waits for the end of that, at most 1 s. False: it is still there.
[[nodiscard]] bool wait_for_end(const std::vector<std::string>& folders, SessionId id);

}  // namespace dlaunch
