// The JSON Schemas of the files of a run folder: docs/reference/schemas, carried in the program.
// Pure.
#pragma once

#include <optional>
#include <string_view>

namespace dlaunch {

/// "events", "summary" or "plan"; nullopt: another name.
[[nodiscard]] std::optional<std::string_view> file_schema(std::string_view name);

}  // namespace dlaunch
