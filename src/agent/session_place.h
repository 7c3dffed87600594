// Where on its node the agent of a session is found again: a folder that belongs to the user and
// nobody else may enter, with a unix socket named after the session. Candidates, in this order:
// /tmp/dlaunch-UID, the cache folder where dlaunch itself lies (${XDG_CACHE_HOME:-~/.cache}/
// dlaunch), $XDG_RUNTIME_DIR/dlaunch. The last is last because logind removes it with the user's
// last session, which may be the very connection that broke.
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
/// Takes the socket's name away; nobody finds the session any more.
/// Shows that it is in use: systemd-tmpfiles(8) and its like take away what nobody has touched for
/// days, a socket too unless they know the path under which it was bound.
void touch_session_socket(const SessionSocket& socket, SessionId id);
void remove_session_socket(const SessionSocket& socket, SessionId id);

/// For a socket whose agent is dead: takes it away and leaves a word of how the session has ended
/// in its place, for those who look for it. Nothing happens where there is no socket. What nobody
/// has looked for within a day is removed by the next one who leaves a word.
void leave_last_word(const std::vector<std::string>& folders, SessionId id,
                     const std::string& word);

/// How to reach the agent of a session on this node.
struct SessionFound {
  UniqueFd connection;  // invalid: it is not there any more
  std::string gone;     // then: why, for a person
};
/// Waits at most 3 s: for a guardian that is still ending what a killed agent has left.
[[nodiscard]] SessionFound find_session(const std::vector<std::string>& folders, SessionId id);

}  // namespace dlaunch
