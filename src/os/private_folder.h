// A folder that belongs to this user and that nobody else may enter.
#pragma once

#include <string>

#include "model/result.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Opens it; `make`: after making it, and its parent, where they are missing. Whoever else could
/// enter it could take the place of what is in it, so an Error when it is somebody else's, open to
/// others, or a link.
[[nodiscard]] Result<UniqueFd> open_private_folder(const std::string& path, bool make);

}  // namespace dlaunch
