// The folders of a session's PMIx server and of the Open MPI ranks that it serves: one beside the
// agent's socket (session_socket.h), and one in /dev/shm for memory that ranks share. Both are
// named after the session, so that a guardian can remove what a killed agent leaves behind.
#pragma once

#include <string>

#include "model/result.h"
#include "node/session/session_socket.h"
#include "os/unique_fd.h"

namespace dlaunch {

struct PmixFolders {
  std::string files;          // absolute
  std::string shared_memory;  // absolute; empty: it could not be made, and ranks choose their own
  // Locks on both folders (flock(2)), held while the folders are in use.
  UniqueFd files_lock;
  UniqueFd memory_lock;
};

/// Makes both folders, empty and with mode 0700, inside folders that only this user may enter.
/// Removes the folders of agents that were killed together with their guardians. Errors:
/// exit_code::kPreflight, with what is wrong with each candidate.
[[nodiscard]] Result<PmixFolders> make_pmix_folders(SessionId id);

/// Removes both folders with their content, in whichever candidate they are. Does nothing if there
/// are none.
void remove_pmix_folders(SessionId id);

}  // namespace dlaunch
