// Finds existing files with a similar name.
#pragma once

#include <string>
#include <vector>

namespace dlaunch {

/// Sorted, without "." and ".."; at most 10,000 of them. Empty for what cannot be listed.
[[nodiscard]] std::vector<std::string> names_in(const std::string& folder);

/// Empty: none of them is near (spec/nearest.h).
[[nodiscard]] std::string nearest_of(const std::string& name,
                                     const std::vector<std::string>& names);

/// For a path that leads nowhere: the same with its first wrong component replaced. `path` as the
/// user wrote it, relative to `folder`, and so is the answer; empty: nothing is near.
[[nodiscard]] std::string near_file(const std::string& path, const std::string& folder);

}  // namespace dlaunch
