// Where on its node the agent of a session is found again: a folder that belongs to the user and
// nobody else may enter, with a unix socket named after the session. Candidates, in this order:
// /tmp/dlaunch-UID, the cache folder where dlaunch itself lies (${XDG_CACHE_HOME:-~/.cache}/
// dlaunch/run), $XDG_RUNTIME_DIR/dlaunch. The last is last because logind removes it with the user's
// last session, which may be the very connection that broke.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "os/unique_fd.h"

namespace dlaunch {

/// What the folders are named after, taken from the environment once.
struct SessionFolders {
  std::vector<std::string> candidates;  // absolute
};
[[nodiscard]] SessionFolders session_folders();

/// "00000000000000ff".
[[nodiscard]] std::string session_name(std::uint64_t session);
/// The same from text; nullopt: not 1 to 16 hexadecimal digits.
[[nodiscard]] std::optional<std::uint64_t> session_from_name(const std::string& text);

/// The folder, made with mode 0700 where it is missing. The error says what is wrong with it: not
/// ours, open to others, a link.
[[nodiscard]] Result<UniqueFd> open_session_folder(const std::string& path, bool make);

/// A listening socket, mode 0600, in the first candidate that takes one.
struct SessionSocket {
  UniqueFd listener;
  UniqueFd folder;
  std::string folder_path;
};
[[nodiscard]] Result<SessionSocket> open_session_socket(const SessionFolders&,
                                                        std::uint64_t session);
/// Takes the socket's name away.
void remove_session_socket(const SessionSocket&, std::uint64_t session);

/// Leaves word of how a session has ended, for those who look for it, and takes its socket away.
/// Words that nobody has read for a day are removed from the folder.
void leave_last_words(const SessionFolders&, std::uint64_t session, const std::string& words);

/// How to reach the agent of a session on this node.
struct SessionFound {
  UniqueFd connection;  // invalid: it is not there any more
  std::string gone;     // then: why, for a person
};
/// Waits at most a moment: for a guardian that is still ending what a killed agent has left.
[[nodiscard]] SessionFound find_session(const SessionFolders&, std::uint64_t session);

}  // namespace dlaunch
