// Paths in foreign files, as text: no file system access.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch::jobfile {

/// `text` resolved against `folder`, normalized, without a trailing slash.
[[nodiscard]] std::string path_below(const std::string& folder, const std::string& text);

/// True for a name that is not a local path: "azureml:x", "wasbs://...", "gs://...". "file:" is
/// local.
[[nodiscard]] bool is_remote(std::string_view text);

/// Why `text` cannot be a path of this machine ("C:\data"), phrased to follow "the input is";
/// empty: it can.
[[nodiscard]] std::string problem_of_path(std::string_view text);

/// Removes "file:" or "file://".
[[nodiscard]] std::string without_file_scheme(std::string_view text);

}  // namespace dlaunch::jobfile
