#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "os/unique_fd.h"

namespace dlaunch {

/// Removes everything in a folder of this user except the names in `spared`, even below folders
/// whose mode forbids it; follows no link, and stops with EBUSY at a mount. `step` is called after
/// each removal. Returns 0 or an errno.
[[nodiscard]] int clear_folder(const UniqueFd& folder, const std::function<void()>& step,
                               const std::vector<std::string_view>& spared = {});

/// The bytes that clearing the folder would free: what its files occupy, except those that have
/// another hard link elsewhere. What cannot be read counts as empty. Follows no link.
[[nodiscard]] std::uint64_t bytes_below(const UniqueFd& folder);

}  // namespace dlaunch
