#pragma once

#include <functional>

#include "os/unique_fd.h"

namespace dlaunch {

/// Removes all that is in a folder of this user, also below folders whose mode forbids it; follows
/// no link. `step` is called after each removal. Returns 0 or an errno.
[[nodiscard]] int clear_folder(const UniqueFd& folder, const std::function<void()>& step);

}  // namespace dlaunch
