#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "os/unique_fd.h"

namespace dlaunch {

/// Removes everything in a folder of this user, even below folders whose mode forbids it, except
/// the entries at its top level named in `spared`. Follows no link and stops with EBUSY at a mount.
/// Calls `step` before it removes each entry. Returns 0 or an errno.
[[nodiscard]] int clear_folder(const UniqueFd& folder, const std::function<void()>& step,
                               const std::vector<std::string_view>& spared = {});

/// The bytes that clearing the folder would free: what its files occupy, without those that have
/// several hard links. Unreadable folders count as empty. Follows no link.
[[nodiscard]] std::uint64_t bytes_below(const UniqueFd& folder);

}  // namespace dlaunch
