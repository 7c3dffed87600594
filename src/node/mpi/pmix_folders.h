// The folders of a session's PMIx server and of the Open MPI ranks that it serves: one beside the
// agent's socket (session_socket.h), and one in /dev/shm for memory that ranks share. Both are
// named after the session, so that a guardian can remove what a killed agent has left.
#pragma once

#include <string>

#include "model/result.h"
#include "node/session/session_socket.h"
#include "os/unique_fd.h"

namespace dlaunch {

struct PmixFolders {
  std::string files;          // absolute
  std::string shared_memory;  // absolute; empty: none could be made, ranks choose their own
  // Locks on both, flock(2), held while they are in use.
  UniqueFd files_lock;
  UniqueFd memory_lock;
};

/// Makes both, empty, mode 0700, in folders that only this user may enter, and removes what
/// agents that were killed together with their guardians have left. Errors: exit_code::kPreflight,
/// with the fault of each candidate.
[[nodiscard]] Result<PmixFolders> make_pmix_folders(SessionId id);

/// Removes both with their content, wherever they are. Does nothing if there are none.
void remove_pmix_folders(SessionId id);

}  // namespace dlaunch
