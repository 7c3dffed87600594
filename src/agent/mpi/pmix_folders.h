// Where the PMIx server of a session, and the Open MPI ranks that it serves, keep files: a folder
// for each agent beside its socket (session_place.h), and one in /dev/shm for the memory that ranks
// share. Both are named after the session, so that a guardian can remove what a killed agent left.
#pragma once

#include <string>

#include "agent/session/session_place.h"
#include "model/result.h"
#include "os/unique_fd.h"

namespace dlaunch {

struct PmixFolders {
  std::string files;          // absolute
  std::string shared_memory;  // the same; empty: there is no place for it, ranks find their own
  // Locks on both, flock(2): while they are held, somebody lives here.
  UniqueFd files_lock;
  UniqueFd memory_lock;
};

/// Makes both, empty, mode 0700, in folders that are ours and that nobody else may enter, and
/// removes what agents have left there that were killed together with their guardians. Errors:
/// exit_code::kPreflight, what is wrong with each candidate.
[[nodiscard]] Result<PmixFolders> make_pmix_folders(SessionId id);

/// Removes both with all that is in them, wherever they are. Nothing happens where there are none.
void remove_pmix_folders(SessionId id);

}  // namespace dlaunch
