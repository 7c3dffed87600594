// Paths as users write them, and existing files with similar names.
#pragma once

#include <string>
#include <vector>

namespace dlaunch {

/// `path`, resolved from `folder` if it is relative.
[[nodiscard]] std::string path_from(const std::string& folder, const std::string& path);

/// Sorted, without "." and ".."; at most 10,000. Empty if the folder cannot be read.
[[nodiscard]] std::vector<std::string> names_in(const std::string& folder);

/// The most similar name (jobfile/suggestion.h); empty if none is similar.
[[nodiscard]] std::string nearest_of(const std::string& name,
                                     const std::vector<std::string>& names);

/// A missing path with its first wrong component replaced by a similar one. `path` and the answer
/// are in the form that the user wrote, relative to `folder`. Empty: nothing is similar.
[[nodiscard]] std::string near_file(const std::string& path, const std::string& folder);

}  // namespace dlaunch
