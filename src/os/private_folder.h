// A folder that belongs to this user and that no other user may enter.
#pragma once

#include <string>

#include "model/result.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Opens it; `make`: first makes it and its parent if they are missing. Error if it belongs to
/// another user, is open to others, or is a link: another user could replace what is in it.
[[nodiscard]] Result<UniqueFd> open_private_folder(const std::string& path, bool make);

/// Opens a folder of this user and locks it (flock(2)) without waiting. Invalid: it does not exist,
/// is a link, belongs to another user, or is locked by another process.
[[nodiscard]] UniqueFd lock_own_folder(const std::string& path);

}  // namespace dlaunch
