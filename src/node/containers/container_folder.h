// The private folder of an attempt through which the ranks of a node enter their containers. It is
// mounted in each container at the same path, read-only where the runtime can. It also records how
// to remove the containers if their agent is killed.
//
//   FOLDER/dlaunch    a link to our binary, or a copy
//   FOLDER/socket     for entry_protocol.h
//   FOLDER/rc         a shell script that executes its arguments: enroot's start script
//   FOLDER/cleanup    command lines that remove the attempt's containers; nothing else is executed
//
// The agent holds a lock on the folder (flock(2)) while it lives.
#pragma once

#include <string>
#include <vector>

#include "model/environment.h"
#include "model/result.h"
#include "os/unique_fd.h"

namespace dlaunch {

[[nodiscard]] inline std::string entry_socket(const std::string& folder) {
  return folder + "/socket";
}

/// Makes the folder with our program in it. The folder must not exist yet: if another user had made
/// it, that user could make us execute another program. It gets its name only after it is locked,
/// so no other agent takes it for an abandoned folder. Errors: errno.
struct EntryFolder {
  UniqueFd lock;
};
[[nodiscard]] tl::expected<EntryFolder, int> make_entry_folder(const std::string& folder);

/// Writes the commands that remove the attempt's containers, in place of earlier ones. Returns 0 or
/// an errno.
[[nodiscard]] int note_cleanup(const std::string& folder,
                               const std::vector<std::vector<std::string>>& commands);

/// Runs the recorded commands, which remove leftover containers, then removes the folder.
/// Blocks for at most 20 s per command. Without the folder's `lock`, waits at most 5 s for another
/// agent that is clearing it. Does nothing if this user has no such folder.
void clear_entry_folder(const std::string& folder, UniqueFd lock);
/// Removes the folder without running the commands.
void remove_entry_folder(const std::string& folder);

/// Clears the folders in `base` whose agents were killed together with their guardians. Blocks for
/// at most about 2 s in total; the next call clears what is left then.
void clear_abandoned_entry_folders(const std::string& base);

/// The first of /tmp, /var/tmp and the cache folder of this environment where we can write and
/// execute programs; empty if there is none.
[[nodiscard]] std::string entry_base(const Environment& environment);

}  // namespace dlaunch
