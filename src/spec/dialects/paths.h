// Paths in foreign files, as text: nothing looks at a disk.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::spec {

/// `text` below `folder`, normalized, without a slash at the end. An absolute `text` stays.
[[nodiscard]] std::string path_below(const std::string& folder, const std::string& text);

/// "azureml:x", "wasbs://...", "gs://...": a name of something that is in no folder.
/// "file:" is a folder.
[[nodiscard]] bool is_remote(std::string_view text);

/// Why `text` cannot be a path of this machine ("C:\data"), in words that go on after "the input
/// is"; empty: it can.
[[nodiscard]] std::string problem_of_path(std::string_view text);

/// Without "file:" or "file://" in front.
[[nodiscard]] std::string without_file_scheme(std::string_view text);

}  // namespace dlaunch::spec
