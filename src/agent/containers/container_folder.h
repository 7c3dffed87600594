// The private folder of an attempt through which the ranks of a node come into their containers: it
// is mounted in each, at the same path, read-only where the runtime can, with our own program in it
// and a socket. And what is to be
// done about containers when the agent that has made them is gone.
//
//   FOLDER/dlaunch    a link to our binary, or a copy
//   FOLDER/socket     container_words.h
//   FOLDER/rc         a shell script that executes its arguments: what enroot runs first
//   FOLDER/cleanup    command lines that remove the attempt's containers; nothing else is executed
//
// While its agent lives it holds a lock on the folder, flock(2).
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

/// Makes it, with our program in it; it must not be there yet, because whoever else could have made
/// it could have his program executed by us. It has its name only once it is locked, so that nobody
/// takes it for an abandoned one. Errors: errno.
struct EntryFolder {
  UniqueFd lock;
};
[[nodiscard]] tl::expected<EntryFolder, int> make_entry_folder(const std::string& folder);

/// Says what removes the attempt's containers; replaces what was said before. 0 or errno.
[[nodiscard]] int note_cleanup(const std::string& folder,
                               const std::vector<std::vector<std::string>>& commands);

/// Removes containers that are left, by what was noted, and the folder. Blocks, at most 20 s for
/// each command. Nothing happens where there is no such folder of ours.
void clear_entry_folder(const std::string& folder);
/// Removes the folder alone.
void remove_entry_folder(const std::string& folder);

/// Clears the folders beside this one whose agents were killed together with their guardians.
/// Blocks, at most about 3 s in all; what is left then is for the next who does this.
void clear_abandoned_entry_folders(const std::string& base);

/// The first of /tmp, /var/tmp and the cache folder that we can write and execute programs from,
/// from this environment; empty: none.
[[nodiscard]] std::string entry_base(const Environment& environment);

}  // namespace dlaunch
